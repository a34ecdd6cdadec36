// Stands for a cuFFT of version FAKE_VERSION.1.2 that has nothing else.
extern "C" __attribute__((visibility("default"))) int cufftGetProperty(int which, int* value) {
  *value = which == 0 ? FAKE_VERSION : which;
  return 0;
}
