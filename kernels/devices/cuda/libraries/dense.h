// The dense linear algebra that kernels leave to a library: cuSOLVER (dense_by_cusolver.cpp). Needs nothing of the CUDA
// Toolkit.
//
// Matrices lie by columns, one after the other, in float32 or float64. Each function enqueues on the context's stream,
// and waits only where the library does. `info` is an int in device memory: 0, or LAPACK's number. A workspace has the
// bytes that the function before it asks for; a library answers that on a lane only.
#pragma once

#include <cstdint>

#include "kernels/call/call.h"
#include "kernels/devices/cuda/executor/context.h"

namespace hotplate::dense {

struct Workspace {
  void* data = nullptr;  // device memory, on a multiple of 256 bytes
  std::uint64_t bytes = 0;
};

// a = u^T u, with the upper triangular u in place of a's upper triangle; the part below the diagonal is neither read
// nor written.
Outcome CholeskyBytes(CudaContext& context, DType dtype, int n, std::uint64_t& bytes);
Outcome Cholesky(CudaContext& context, DType dtype, int n, void* a, const Workspace& workspace, int* info);

// a = P L U in place, with n pivots; and b, n x k, becomes x with a^T x = b.
Outcome LuBytes(CudaContext& context, DType dtype, int n, std::uint64_t& bytes);
Outcome Lu(CudaContext& context, DType dtype, int n, void* a, int* pivots, const Workspace& workspace, int* info);
Outcome LuSolveTransposed(CudaContext& context, DType dtype, int n, int k, const void* lu, const int* pivots, void* b,
                          int* info);

// Eigenvalues, ascending, of the symmetric matrix with a's upper triangle; with `vectors` the eigenvectors replace a,
// in columns. a is overwritten.
Outcome EighBytes(CudaContext& context, DType dtype, bool vectors, int n, std::uint64_t& bytes);
Outcome Eigh(CudaContext& context, DType dtype, bool vectors, int n, void* a, void* w, const Workspace& workspace,
             int* info);

// a = u diag(s) vt with rows >= columns; a is overwritten. kThin: u is rows x columns; kFull: rows x rows; vt is
// columns x columns; kNone: neither is written.
enum class Vectors { kNone, kThin, kFull };
Outcome SvdBytes(CudaContext& context, DType dtype, int rows, int columns, std::uint64_t& bytes);
Outcome Svd(CudaContext& context, DType dtype, Vectors vectors, int rows, int columns, void* a, void* s, void* u,
            void* vt, const Workspace& workspace, int* info);

// a = q r with rows >= columns: r in a's upper triangle, and q as the reflectors below it with `columns` scalars in
// tau. Then c, rows x c_columns, becomes q c; q is rows x rows there. The bytes are enough for both.
Outcome QrBytes(CudaContext& context, DType dtype, int rows, int columns, int c_columns, std::uint64_t& bytes);
Outcome Qr(CudaContext& context, DType dtype, int rows, int columns, void* a, void* tau, const Workspace& workspace,
           int* info);
Outcome ApplyQ(CudaContext& context, DType dtype, int rows, int columns, const void* qr, const void* tau, int c_columns,
               void* c, const Workspace& workspace, int* info);

}  // namespace hotplate::dense
