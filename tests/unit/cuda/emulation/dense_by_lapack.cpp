// dense.h by the host's LAPACK: what the kernels hand to a library, and what they make of its answers, is judged
// without a GPU. Workspaces are as small as they may be, and are written over from end to end.
#include "tests/unit/cuda/emulation/dense_by_lapack.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cuda/dense.h"

extern "C" {
void spotrf_(const char*, const int*, float*, const int*, int*, std::size_t);
void dpotrf_(const char*, const int*, double*, const int*, int*, std::size_t);
void sgetrf_(const int*, const int*, float*, const int*, int*, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void sgetrs_(const char*, const int*, const int*, const float*, const int*, const int*, float*, const int*, int*,
             std::size_t);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*, int*,
             std::size_t);
void ssyev_(const char*, const char*, const int*, float*, const int*, float*, float*, const int*, int*, std::size_t,
            std::size_t);
void dsyev_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, std::size_t,
            std::size_t);
void sgesvd_(const char*, const char*, const int*, const int*, float*, const int*, float*, float*, const int*, float*,
             const int*, float*, const int*, int*, std::size_t, std::size_t);
void dgesvd_(const char*, const char*, const int*, const int*, double*, const int*, double*, double*, const int*,
             double*, const int*, double*, const int*, int*, std::size_t, std::size_t);
void sgeqrf_(const int*, const int*, float*, const int*, float*, float*, const int*, int*);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void sormqr_(const char*, const char*, const int*, const int*, const int*, const float*, const int*, const float*,
             float*, const int*, float*, const int*, int*, std::size_t, std::size_t);
void dormqr_(const char*, const char*, const int*, const int*, const int*, const double*, const int*, const double*,
             double*, const int*, double*, const int*, int*, std::size_t, std::size_t);
}

namespace hotplate::dense {
namespace {

std::uint64_t BytesFor(DType dtype, int elements) {
  return SizeOf(dtype) * static_cast<std::uint64_t>(std::max(elements, 1));
}

// What LAPACK says it needs is handed over by hand, so that too little of it is memory of somebody else's.
int Use(DType dtype, const Workspace& workspace, int needed) {
  const std::uint64_t bytes = BytesFor(dtype, needed);
  if (workspace.bytes < bytes) return 0;  // LAPACK refuses it
  std::memset(workspace.data, 0xA5, workspace.bytes);
  return needed;
}

template <typename Float, typename Double>
Outcome By(DType dtype, Float in_float, Double in_double) {
  if (dtype == DType::kFloat32) {
    in_float();
  } else {
    in_double();
  }
  return Outcome::Ok();
}

float* F(void* data) { return static_cast<float*>(data); }
double* D(void* data) { return static_cast<double*>(data); }
const float* F(const void* data) { return static_cast<const float*>(data); }
const double* D(const void* data) { return static_cast<const double*>(data); }

// After an iteration.
Outcome Ended(const Outcome& outcome, int* info) {
  emulation::GivenUp& told = emulation::given_up;
  if (told.info != 0 && told.first-- == 0) *info = std::exchange(told.info, 0);
  return outcome;
}

int EighElements(int n) { return std::max(1, 3 * n - 1); }
int SvdElements(int rows, int columns) { return std::max(3 * columns + rows, 5 * columns); }

}  // namespace

Outcome CholeskyBytes(CudaContext&, DType dtype, int n, std::uint64_t& bytes) {
  bytes = BytesFor(dtype, n);
  return Outcome::Ok();
}

Outcome Cholesky(CudaContext&, DType dtype, int n, void* a, const Workspace& workspace, int* info) {
  if (Use(dtype, workspace, n) != n) return Outcome::Failed("too little workspace");
  return By(
      dtype, [&] { spotrf_("U", &n, F(a), &n, info, 1); }, [&] { dpotrf_("U", &n, D(a), &n, info, 1); });
}

Outcome LuBytes(CudaContext&, DType dtype, int n, std::uint64_t& bytes) {
  bytes = BytesFor(dtype, n);
  return Outcome::Ok();
}

Outcome Lu(CudaContext&, DType dtype, int n, void* a, int* pivots, const Workspace& workspace, int* info) {
  if (Use(dtype, workspace, n) != n) return Outcome::Failed("too little workspace");
  return By(
      dtype, [&] { sgetrf_(&n, &n, F(a), &n, pivots, info); }, [&] { dgetrf_(&n, &n, D(a), &n, pivots, info); });
}

Outcome LuSolveTransposed(CudaContext&, DType dtype, int n, int k, const void* lu, const int* pivots, void* b,
                          int* info) {
  return By(
      dtype, [&] { sgetrs_("T", &n, &k, F(lu), &n, pivots, F(b), &n, info, 1); },
      [&] { dgetrs_("T", &n, &k, D(lu), &n, pivots, D(b), &n, info, 1); });
}

Outcome EighBytes(CudaContext&, DType dtype, bool, int n, std::uint64_t& bytes) {
  bytes = BytesFor(dtype, EighElements(n));
  return Outcome::Ok();
}

Outcome Eigh(CudaContext&, DType dtype, bool vectors, int n, void* a, void* w, const Workspace& workspace, int* info) {
  const int work = Use(dtype, workspace, EighElements(n));
  const char* const job = vectors ? "V" : "N";
  const Outcome outcome = By(
      dtype, [&] { ssyev_(job, "U", &n, F(a), &n, F(w), F(workspace.data), &work, info, 1, 1); },
      [&] { dsyev_(job, "U", &n, D(a), &n, D(w), D(workspace.data), &work, info, 1, 1); });
  return Ended(outcome, info);
}

Outcome SvdBytes(CudaContext&, DType dtype, int rows, int columns, std::uint64_t& bytes) {
  bytes = BytesFor(dtype, SvdElements(rows, columns));
  return Outcome::Ok();
}

Outcome Svd(CudaContext&, DType dtype, Vectors vectors, int rows, int columns, void* a, void* s, void* u, void* vt,
            const Workspace& workspace, int* info) {
  const int work = Use(dtype, workspace, SvdElements(rows, columns));
  const char* const job = vectors == Vectors::kFull ? "A" : vectors == Vectors::kThin ? "S" : "N";
  const Outcome outcome = By(
      dtype,
      [&] {
        sgesvd_(job, job, &rows, &columns, F(a), &rows, F(s), F(u), &rows, F(vt), &columns, F(workspace.data), &work,
                info, 1, 1);
      },
      [&] {
        dgesvd_(job, job, &rows, &columns, D(a), &rows, D(s), D(u), &rows, D(vt), &columns, D(workspace.data), &work,
                info, 1, 1);
      });
  return Ended(outcome, info);
}

Outcome QrBytes(CudaContext&, DType dtype, int, int columns, int c_columns, std::uint64_t& bytes) {
  bytes = BytesFor(dtype, std::max(columns, c_columns));
  return Outcome::Ok();
}

Outcome Qr(CudaContext&, DType dtype, int rows, int columns, void* a, void* tau, const Workspace& workspace,
           int* info) {
  const int work = Use(dtype, workspace, columns);
  return By(
      dtype, [&] { sgeqrf_(&rows, &columns, F(a), &rows, F(tau), F(workspace.data), &work, info); },
      [&] { dgeqrf_(&rows, &columns, D(a), &rows, D(tau), D(workspace.data), &work, info); });
}

Outcome ApplyQ(CudaContext&, DType dtype, int rows, int columns, const void* qr, const void* tau, int c_columns,
               void* c, const Workspace& workspace, int* info) {
  const int work = Use(dtype, workspace, c_columns);
  return By(
      dtype,
      [&] {
        sormqr_("L", "N", &rows, &c_columns, &columns, F(qr), &rows, F(tau), F(c), &rows, F(workspace.data), &work,
                info, 1, 1);
      },
      [&] {
        dormqr_("L", "N", &rows, &c_columns, &columns, D(qr), &rows, D(tau), D(c), &rows, D(workspace.data), &work,
                info, 1, 1);
      });
}

}  // namespace hotplate::dense
