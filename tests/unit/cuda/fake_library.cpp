// Stands for one of CUDA's libraries, whose only function says its version; or for one that has not even that.
#ifndef FAKE_LIBRARY_VERSION
#define FAKE_LIBRARY_VERSION 13
#endif
#ifdef FAKE_LIBRARY_WITHOUT_FUNCTIONS
extern "C" __attribute__((visibility("default"))) int hotplate_something_else() { return 0; }
#else
extern "C" __attribute__((visibility("default"))) int hotplate_fake_library() { return FAKE_LIBRARY_VERSION; }
#endif
