// Stands for a library that has nothing of what it is opened for.
extern "C" __attribute__((visibility("default"))) int hotplate_fake_library() { return 13; }
