// In the place of kernels/cuda/cufft.h: nothing of cuFFT's. What fft leaves to it is fourier_by_sums.cpp's.
#pragma once

namespace hotplate {

struct Cufft {};
struct CufftPlan {};

}  // namespace hotplate
