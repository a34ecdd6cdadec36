// The Fourier transforms that kernels leave to a library: cuFFT (fourier_by_cufft.cpp). Needs nothing of the CUDA
// Toolkit.
#pragma once

#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/executor/context.h"

namespace hotplate::fourier {

// `count` transforms of rows x columns points, one behind the other, by rows; of one row along one axis. Real numbers
// have columns / 2 + 1 complex ones for a spectrum, in each row.
struct Batch {
  enum class Kind { kComplex, kRealToHalf, kHalfToReal };

  Kind kind = Kind::kComplex;
  bool in_double = false;
  std::uint64_t count = 0, rows = 0, columns = 0;

  auto operator<=>(const Batch&) const = default;
};

// A library answers it on a lane only.
Outcome WorkspaceBytes(CudaContext& context, const Batch& batch, std::uint64_t& bytes);

// Enqueues the plain sums, exp(-2 pi i j k / n) or with `inverse` the conjugate; nothing is divided. kRealToHalf is
// never inverse; kHalfToReal always is, and its input is a spectrum of real numbers. Only for kComplex may `from` be
// `to`; kHalfToReal overwrites `from`. The workspace has the number of bytes that was asked for and is 256-byte
// aligned.
Outcome Run(CudaContext& context, const Batch& batch, bool inverse, void* from, void* to, void* workspace);

}  // namespace hotplate::fourier
