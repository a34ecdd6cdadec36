// cuFFT by sums on the host: what fft asks of the library, and what it makes of the answers, is judged without a GPU.
// As strict as a library may be: a plan has the lane's stream, takes no memory of its own, and wants its workspace said
// for each transform, which writes over it; a spectrum of real numbers must be one, and is gone afterwards.
#pragma once

#include <string>
#include <vector>

#include "kernels/devices/cuda/libraries/cufft.h"

namespace hotplate::emulation {

// As the loader finds them.
Cufft CufftBySums();

// All transforms since the last call of this: "C2C 6 x [7 x 11] forward" is six of seven rows of eleven points.
std::vector<std::string> TakeTransformed();

// Plans that were made and not destroyed.
int FourierPlans();

}  // namespace hotplate::emulation
