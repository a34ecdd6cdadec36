// Stands for a cuBLASLt of version FAKE_VERSION that has nothing else.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) std::size_t cublasLtGetVersion() { return FAKE_VERSION; }
