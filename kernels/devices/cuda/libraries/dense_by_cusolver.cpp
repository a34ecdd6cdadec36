// dense.h by cuSOLVER.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "kernels/call/for_type.h"
#include "kernels/devices/cuda/libraries/dense.h"
#include "kernels/devices/cuda/plugin/lane_libraries.h"

namespace hotplate::dense {
namespace {

Outcome FromSolver(cusolverStatus_t status, const char* what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return Outcome::Ok();
  ClearLaunchError();
  char text[120];
  std::snprintf(text, sizeof text, "cuSOLVER: %s: status %d", what, static_cast<int>(status));
  return status == CUSOLVER_STATUS_ALLOC_FAILED ? Outcome::OutOfMemory(text) : Outcome::Failed(text);
}

// The lane's, made for the first of its calls.
Outcome MakeHandle(CudaContext& context) {
  LaneLibraries& libraries = context.libraries();
  if (libraries.solver_handle != nullptr) return Outcome::Ok();
  cusolverDnHandle_t raw = nullptr;
  if (const Outcome o = FromSolver(libraries.solver.cusolverDnCreate(&raw), "handle"); !o.ok()) return o;
  OwnedCusolverHandle made(raw, {libraries.solver.cusolverDnDestroy});
  if (const Outcome o = FromSolver(libraries.solver.cusolverDnSetStream(raw, context.stream()), "stream"); !o.ok()) {
    return o;
  }
  // For all calls: varying bits gain speed only for users who have measured both.
  const auto set_mode = libraries.solver.cusolverDnSetDeterministicMode;
  if (set_mode != nullptr) {
    if (const Outcome o = FromSolver(set_mode(raw, Cusolver::kDeterministicResults), "same bits"); !o.ok()) return o;
  }
  libraries.solver_handle = std::move(made);
  return Outcome::Ok();
}

// body(routines, handle, T{}) for the dtype's T; returns a cusolverStatus_t.
template <typename Body>
Outcome Do(CudaContext& context, DType dtype, const char* what, const Body& body) {
  if (const Outcome o = MakeHandle(context); !o.ok()) return o;
  const LaneLibraries& libraries = context.libraries();
  cusolverDnHandle_t handle = libraries.solver_handle.get();
  return ForType<float, double>(
      what, dtype, [&]<typename T>() { return FromSolver(body(libraries.solver.In<T>(), handle, T{}), what); });
}

// For size queries, which take no matrices. Some functions refuse null; the memory is not read.
template <typename T>
T* Nowhere() {
  alignas(256) static T nowhere{};
  return &nowhere;
}

// Bytes of the workspace for rows x columns. body(routines, handle, T{}, elements) asks the library for its elements.
// The library counts them, and the matrix's, in 32 bits: it refuses more, or returns a truncated number.
template <typename Body>
Outcome Ask(CudaContext& context, DType dtype, const char* what, int rows, int columns, std::uint64_t& bytes,
            const Body& body) {
  if (const Outcome o = MakeHandle(context); !o.ok()) return o;  // that it fails says nothing of the sizes
  int elements = 0;
  const Outcome asked =
      Do(context, dtype, what, [&](const auto& f, auto handle, auto zero) { return body(f, handle, zero, &elements); });
  bytes = SizeOf(dtype) * static_cast<std::uint64_t>(std::max(elements, 1));
  constexpr long long kMost = std::numeric_limits<int>::max();
  const bool too_many = asked.ok() ? elements < 0 : asked.code() == HOTPLATE_FAILED && kMost / rows < columns;
  if (!too_many) return asked;
  char text[200];
  std::snprintf(text, sizeof text,
                "cuSOLVER: %s: it counts up to %lld elements, and a matrix of %d by %d has more, or its workspace has; "
                "--device cpu has no such limit",
                what, kMost, rows, columns);
  return Outcome::Invalid(text);
}

int Elements(DType dtype, const Workspace& workspace) {
  return static_cast<int>(std::min<std::uint64_t>(workspace.bytes / SizeOf(dtype), 0x7fffffff));
}

cusolverEigMode_t Mode(bool vectors) { return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR; }

}  // namespace

Outcome CholeskyBytes(CudaContext& context, DType dtype, int n, std::uint64_t& bytes) {
  return Ask(context, dtype, "size of potrf", n, n, bytes, [&](const auto& f, auto handle, auto zero, int* elements) {
    return f.potrf_size(handle, CUBLAS_FILL_MODE_UPPER, n, Nowhere<decltype(zero)>(), n, elements);
  });
}

Outcome Cholesky(CudaContext& context, DType dtype, int n, void* a, const Workspace& workspace, int* info) {
  return Do(context, dtype, "potrf", [&](const auto& f, auto handle, auto zero) {
    using T = decltype(zero);
    return f.potrf(handle, CUBLAS_FILL_MODE_UPPER, n, static_cast<T*>(a), n, static_cast<T*>(workspace.data),
                   Elements(dtype, workspace), info);
  });
}

Outcome LuBytes(CudaContext& context, DType dtype, int n, std::uint64_t& bytes) {
  return Ask(context, dtype, "size of getrf", n, n, bytes, [&](const auto& f, auto handle, auto zero, int* elements) {
    return f.getrf_size(handle, n, n, Nowhere<decltype(zero)>(), n, elements);
  });
}

Outcome Lu(CudaContext& context, DType dtype, int n, void* a, int* pivots, const Workspace& workspace, int* info) {
  return Do(context, dtype, "getrf", [&](const auto& f, auto handle, auto zero) {
    using T = decltype(zero);
    return f.getrf(handle, n, n, static_cast<T*>(a), n, static_cast<T*>(workspace.data), pivots, info);
  });
}

Outcome LuSolveTransposed(CudaContext& context, DType dtype, int n, int k, const void* lu, const int* pivots, void* b,
                          int* info) {
  return Do(context, dtype, "getrs", [&](const auto& f, auto handle, auto zero) {
    using T = decltype(zero);
    return f.getrs(handle, CUBLAS_OP_T, n, k, static_cast<const T*>(lu), n, pivots, static_cast<T*>(b), n, info);
  });
}

Outcome EighBytes(CudaContext& context, DType dtype, bool vectors, int n, std::uint64_t& bytes) {
  return Ask(context, dtype, "size of syevd", n, n, bytes, [&](const auto& f, auto handle, auto zero, int* elements) {
    using T = decltype(zero);
    return f.syevd_size(handle, Mode(vectors), CUBLAS_FILL_MODE_UPPER, n, Nowhere<T>(), n, Nowhere<T>(), elements);
  });
}

Outcome Eigh(CudaContext& context, DType dtype, bool vectors, int n, void* a, void* w, const Workspace& workspace,
             int* info) {
  return Do(context, dtype, "syevd", [&](const auto& f, auto handle, auto zero) {
    using T = decltype(zero);
    return f.syevd(handle, Mode(vectors), CUBLAS_FILL_MODE_UPPER, n, static_cast<T*>(a), n, static_cast<T*>(w),
                   static_cast<T*>(workspace.data), Elements(dtype, workspace), info);
  });
}

Outcome SvdBytes(CudaContext& context, DType dtype, int rows, int columns, std::uint64_t& bytes) {
  return Ask(
      context, dtype, "size of gesvd", rows, columns, bytes,
      [&](const auto& f, auto handle, auto, int* elements) { return f.gesvd_size(handle, rows, columns, elements); });
}

Outcome Svd(CudaContext& context, DType dtype, Vectors vectors, int rows, int columns, void* a, void* s, void* u,
            void* vt, const Workspace& workspace, int* info) {
  const signed char job = vectors == Vectors::kFull ? 'A' : vectors == Vectors::kThin ? 'S' : 'N';
  return Do(context, dtype, "gesvd", [&](const auto& f, auto handle, auto zero) {
    using T = decltype(zero);
    return f.gesvd(handle, job, job, rows, columns, static_cast<T*>(a), rows, static_cast<T*>(s), static_cast<T*>(u),
                   rows, static_cast<T*>(vt), columns, static_cast<T*>(workspace.data), Elements(dtype, workspace),
                   nullptr, info);
  });
}

Outcome QrBytes(CudaContext& context, DType dtype, int rows, int columns, int c_columns, std::uint64_t& bytes) {
  const Outcome asked = Ask(context, dtype, "size of geqrf", rows, columns, bytes,
                            [&](const auto& f, auto handle, auto zero, int* elements) {
                              return f.geqrf_size(handle, rows, columns, Nowhere<decltype(zero)>(), rows, elements);
                            });
  if (!asked.ok() || c_columns == 0) return asked;
  std::uint64_t to_apply = 0;
  const Outcome again = Ask(context, dtype, "size of ormqr", rows, c_columns, to_apply,
                            [&](const auto& f, auto handle, auto zero, int* elements) {
                              using T = decltype(zero);
                              return f.ormqr_size(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, rows, c_columns, columns,
                                                  Nowhere<T>(), rows, Nowhere<T>(), Nowhere<T>(), rows, elements);
                            });
  bytes = std::max(bytes, to_apply);
  return again;
}

Outcome Qr(CudaContext& context, DType dtype, int rows, int columns, void* a, void* tau, const Workspace& workspace,
           int* info) {
  return Do(context, dtype, "geqrf", [&](const auto& f, auto handle, auto zero) {
    using T = decltype(zero);
    return f.geqrf(handle, rows, columns, static_cast<T*>(a), rows, static_cast<T*>(tau),
                   static_cast<T*>(workspace.data), Elements(dtype, workspace), info);
  });
}

Outcome ApplyQ(CudaContext& context, DType dtype, int rows, int columns, const void* qr, const void* tau, int c_columns,
               void* c, const Workspace& workspace, int* info) {
  return Do(context, dtype, "ormqr", [&](const auto& f, auto handle, auto zero) {
    using T = decltype(zero);
    return f.ormqr(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, rows, c_columns, columns, static_cast<const T*>(qr), rows,
                   static_cast<const T*>(tau), static_cast<T*>(c), rows, static_cast<T*>(workspace.data),
                   Elements(dtype, workspace), info);
  });
}

}  // namespace hotplate::dense
