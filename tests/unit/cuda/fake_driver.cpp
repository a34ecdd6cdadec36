// Stands for libcuda.so.1: it can be opened, and has no devices (CUDA_ERROR_NO_DEVICE).
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) { return 100; }
