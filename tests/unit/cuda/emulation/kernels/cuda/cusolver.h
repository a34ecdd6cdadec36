// In the place of kernels/cuda/cusolver.h: nothing of cuSOLVER's. What others leave to it is dense_by_lapack.cpp's.
#pragma once

namespace hotplate {

struct Cusolver {};
struct OwnedCusolverHandle {};

}  // namespace hotplate
