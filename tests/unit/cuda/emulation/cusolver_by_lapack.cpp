#include "tests/unit/cuda/emulation/cusolver_by_lapack.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/unit/cuda/emulation/library_faults.h"

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

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names.
struct cusolverDnContext {
  cudaStream_t stream = nullptr;
  bool varies = false;                         // in its bits from the handle before
  std::map<std::string, int> workspaces = {};  // elements that were said to be enough, for what
};

namespace {

using Solver = cusolverDnHandle_t;

template <typename T>
struct Lapack;
template <>
struct Lapack<float> {
  static constexpr char kLetter = 'S';
  static constexpr auto potrf = spotrf_;
  static constexpr auto getrf = sgetrf_;
  static constexpr auto getrs = sgetrs_;
  static constexpr auto syev = ssyev_;
  static constexpr auto gesvd = sgesvd_;
  static constexpr auto geqrf = sgeqrf_;
  static constexpr auto ormqr = sormqr_;
};
template <>
struct Lapack<double> {
  static constexpr char kLetter = 'D';
  static constexpr auto potrf = dpotrf_;
  static constexpr auto getrf = dgetrf_;
  static constexpr auto getrs = dgetrs_;
  static constexpr auto syev = dsyev_;
  static constexpr auto gesvd = dgesvd_;
  static constexpr auto geqrf = dgeqrf_;
  static constexpr auto ormqr = dormqr_;
};

int solver_handles = 0;
std::vector<std::string> solver_calls;

const char* Letter(cublasFillMode_t mode) { return mode == CUBLAS_FILL_MODE_UPPER ? "U" : "L"; }
const char* Letter(cusolverEigMode_t mode) { return mode == CUSOLVER_EIG_MODE_VECTOR ? "V" : "N"; }
const char* Letter(cublasOperation_t operation) { return operation == CUBLAS_OP_T ? "T" : "N"; }
const char* Letter(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT ? "L" : "R"; }

// "Sgeqrf 60 5 60".
template <typename T, typename... Arguments>
std::string InWords(const char* routine, const Arguments&... arguments) {
  std::string words = std::string(1, Lapack<T>::kLetter) + routine;
  (absl::StrAppend(&words, " ", arguments), ...);
  return words;
}

bool LieIn(int leading, int rows) { return leading >= std::max(rows, 1); }
// Whether an int counts the elements of a matrix, as the library's check has it.
bool Counted(int leading, int columns) { return std::int64_t{leading} * columns <= std::numeric_limits<int>::max(); }

cusolverStatus_t Usable(Solver handle) {
  if (hotplate::emulation::fault.IsNow()) {
    return hotplate::emulation::fault.of_memory ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_INTERNAL_ERROR;
  }
  if (handle == nullptr || handle->stream != hotplate::emulation::LaneStream()) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return CUSOLVER_STATUS_SUCCESS;
}

// Sizes: `possible` if a routine takes such a call; `elements` as LAPACK has it, or somewhat like that.
cusolverStatus_t Promise(Solver handle, const std::string& what, bool possible, int elements, int* told) {
  if (const cusolverStatus_t status = Usable(handle); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (!possible) return CUSOLVER_STATUS_INVALID_VALUE;
  handle->workspaces[what] = *told = std::max(elements, 1);
  return CUSOLVER_STATUS_SUCCESS;
}

// A routine's begin. The workspace is written over from its begin to its end; where the call says that it is longer
// than it must be, a little more than that.
constexpr int kNotSaid = -1;
template <typename T>
cusolverStatus_t Begin(Solver handle, const std::string& what, bool possible, T* work, int elements) {
  if (const cusolverStatus_t status = Usable(handle); status != CUSOLVER_STATUS_SUCCESS) return status;
  const auto promised = handle->workspaces.find(what);
  if (!possible || promised == handle->workspaces.end()) return CUSOLVER_STATUS_INVALID_VALUE;
  const int needed = promised->second, given = elements == kNotSaid ? needed : elements;
  if (given < needed || reinterpret_cast<std::uintptr_t>(work) % 64 != 0) return CUSOLVER_STATUS_INVALID_VALUE;
  std::memset(work, 0xA5, static_cast<std::size_t>(std::min(given, needed + 16)) * sizeof(T));
  return CUSOLVER_STATUS_SUCCESS;
}

// A routine's end.
template <typename T>
cusolverStatus_t End(Solver handle, const std::string& call, T* result) {
  if (handle->varies) *result *= 1 + std::numeric_limits<T>::epsilon();
  solver_calls.push_back(call);
  return CUSOLVER_STATUS_SUCCESS;
}

void MayGiveUp(int* info) {
  hotplate::emulation::GivenUp& told = hotplate::emulation::given_up;
  if (told.info != 0 && told.first-- == 0) *info = std::exchange(told.info, 0);
}

template <typename T>
cusolverStatus_t PotrfSize(Solver handle, cublasFillMode_t fill, int n, T* a, int lda, int* elements) {
  return Promise(handle, InWords<T>("potrf", Letter(fill), n, lda), a != nullptr && LieIn(lda, n) && Counted(lda, n), n,
                 elements);
}
template <typename T>
cusolverStatus_t Potrf(Solver handle, cublasFillMode_t fill, int n, T* a, int lda, T* work, int lwork, int* info) {
  const std::string call = InWords<T>("potrf", Letter(fill), n, lda);
  if (const auto status = Begin(handle, call, true, work, lwork); status != CUSOLVER_STATUS_SUCCESS) return status;
  Lapack<T>::potrf(Letter(fill), &n, a, &lda, info, 1);
  return End(handle, call, a);
}

template <typename T>
cusolverStatus_t GetrfSize(Solver handle, int m, int n, T* a, int lda, int* elements) {
  return Promise(handle, InWords<T>("getrf", m, n, lda), a != nullptr && LieIn(lda, m) && Counted(lda, n), n, elements);
}
template <typename T>
cusolverStatus_t Getrf(Solver handle, int m, int n, T* a, int lda, T* work, int* pivots, int* info) {
  const std::string call = InWords<T>("getrf", m, n, lda);
  if (const auto status = Begin(handle, call, true, work, kNotSaid); status != CUSOLVER_STATUS_SUCCESS) return status;
  // cuSOLVER's factors of a NaN hold none.
  for (std::size_t i = 0; i < static_cast<std::size_t>(lda) * static_cast<std::size_t>(n); ++i) {
    if (std::isnan(a[i])) a[i] = 1;
  }
  Lapack<T>::getrf(&m, &n, a, &lda, pivots, info);
  return End(handle, call, a);
}

template <typename T>
cusolverStatus_t Getrs(Solver handle, cublasOperation_t operation, int n, int k, const T* a, int lda, const int* pivots,
                       T* b, int ldb, int* info) {
  if (const auto status = Usable(handle); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (!LieIn(lda, n) || !LieIn(ldb, n) || k < 1) return CUSOLVER_STATUS_INVALID_VALUE;
  Lapack<T>::getrs(Letter(operation), &n, &k, a, &lda, pivots, b, &ldb, info, 1);
  return End(handle, InWords<T>("getrs", Letter(operation), n, k, lda, ldb), b);
}

template <typename T>
cusolverStatus_t SyevdSize(Solver handle, cusolverEigMode_t mode, cublasFillMode_t fill, int n, const T* a, int lda,
                           const T* w, int* elements) {
  return Promise(handle, InWords<T>("syevd", Letter(mode), Letter(fill), n, lda),
                 a != nullptr && w != nullptr && LieIn(lda, n) && Counted(lda, n),
                 mode == CUSOLVER_EIG_MODE_VECTOR ? 3 * n : n, elements);
}
template <typename T>
cusolverStatus_t Syevd(Solver handle, cusolverEigMode_t mode, cublasFillMode_t fill, int n, T* a, int lda, T* w,
                       T* work, int lwork, int* info) {
  const std::string call = InWords<T>("syevd", Letter(mode), Letter(fill), n, lda);
  if (const auto status = Begin(handle, call, true, work, lwork); status != CUSOLVER_STATUS_SUCCESS) return status;
  std::vector<T> own(static_cast<std::size_t>(std::max(1, 3 * n)));
  const int own_size = static_cast<int>(own.size());
  Lapack<T>::syev(Letter(mode), Letter(fill), &n, a, &lda, w, own.data(), &own_size, info, 1, 1);
  MayGiveUp(info);
  return End(handle, call, w);
}

template <typename T>
cusolverStatus_t GesvdSize(Solver handle, int m, int n, int* elements) {
  return Promise(handle, InWords<T>("gesvd", m, n), m >= n && Counted(m, n), 3 * n + m, elements);
}
template <typename T>
cusolverStatus_t Gesvd(Solver handle, signed char left, signed char right, int m, int n, T* a, int lda, T* s, T* u,
                       int ldu, T* vt, int ldvt, T* work, int lwork, T*, int* info) {
  const std::string jobs = {static_cast<char>(left), static_cast<char>(right)};
  const bool possible = jobs.find_first_not_of("ASN") == jobs.npos && m >= n && LieIn(lda, m) &&
                        LieIn(ldu, left == 'N' ? 1 : m) && LieIn(ldvt, right == 'N' ? 1 : n);
  if (const auto status = Begin(handle, InWords<T>("gesvd", m, n), possible, work, lwork);
      status != CUSOLVER_STATUS_SUCCESS) {
    return status;
  }
  std::vector<T> own(static_cast<std::size_t>(std::max(3 * n + m, 5 * n)));
  const int own_size = static_cast<int>(own.size());
  Lapack<T>::gesvd(&jobs[0], &jobs[1], &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, own.data(), &own_size, info, 1, 1);
  MayGiveUp(info);
  return End(handle, InWords<T>("gesvd", jobs, m, n, lda, ldu, ldvt), s);
}

template <typename T>
cusolverStatus_t GeqrfSize(Solver handle, int m, int n, T* a, int lda, int* elements) {
  return Promise(handle, InWords<T>("geqrf", m, n, lda), a != nullptr && LieIn(lda, m) && Counted(lda, n), n, elements);
}
template <typename T>
cusolverStatus_t Geqrf(Solver handle, int m, int n, T* a, int lda, T* tau, T* work, int lwork, int* info) {
  const std::string call = InWords<T>("geqrf", m, n, lda);
  if (const auto status = Begin(handle, call, true, work, lwork); status != CUSOLVER_STATUS_SUCCESS) return status;
  std::vector<T> own(static_cast<std::size_t>(std::max(1, n)));
  Lapack<T>::geqrf(&m, &n, a, &lda, tau, own.data(), &n, info);
  return End(handle, call, a);
}

template <typename T>
cusolverStatus_t OrmqrSize(Solver handle, cublasSideMode_t side, cublasOperation_t operation, int m, int n, int k,
                           const T* a, int lda, const T* tau, const T* c, int ldc, int* elements) {
  const bool possible = a != nullptr && tau != nullptr && c != nullptr && side == CUBLAS_SIDE_LEFT && k <= m &&
                        LieIn(lda, m) && LieIn(ldc, m);
  return Promise(handle, InWords<T>("ormqr", Letter(side), Letter(operation), m, n, k, lda, ldc), possible, n,
                 elements);
}
template <typename T>
cusolverStatus_t Ormqr(Solver handle, cublasSideMode_t side, cublasOperation_t operation, int m, int n, int k,
                       const T* a, int lda, const T* tau, T* c, int ldc, T* work, int lwork, int* info) {
  const std::string call = InWords<T>("ormqr", Letter(side), Letter(operation), m, n, k, lda, ldc);
  if (const auto status = Begin(handle, call, true, work, lwork); status != CUSOLVER_STATUS_SUCCESS) return status;
  std::vector<T> own(static_cast<std::size_t>(std::max(1, n)));
  Lapack<T>::ormqr(Letter(side), Letter(operation), &m, &n, &k, a, &lda, tau, c, &ldc, own.data(), &n, info, 1, 1);
  return End(handle, call, c);
}

template <typename T>
hotplate::CusolverRoutines<T> RoutinesFor() {
  hotplate::CusolverRoutines<T> routines;
  routines.potrf_size = PotrfSize<T>, routines.potrf = Potrf<T>;
  routines.getrf_size = GetrfSize<T>, routines.getrf = Getrf<T>, routines.getrs = Getrs<T>;
  routines.syevd_size = SyevdSize<T>, routines.syevd = Syevd<T>;
  routines.gesvd_size = GesvdSize<T>, routines.gesvd = Gesvd<T>;
  routines.geqrf_size = GeqrfSize<T>, routines.geqrf = Geqrf<T>;
  routines.ormqr_size = OrmqrSize<T>, routines.ormqr = Ormqr<T>;
  return routines;
}

cusolverStatus_t SetDeterministicMode(Solver handle, int mode) {
  if (const auto status = Usable(handle); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (mode != hotplate::Cusolver::kDeterministicResults) return CUSOLVER_STATUS_INVALID_VALUE;
  handle->varies = false;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

cusolverStatus_t cusolverGetProperty(libraryPropertyType, int* value) {
  *value = 0;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  cusolverDnContext none{.stream = hotplate::emulation::LaneStream()};
  if (const auto status = Usable(&none); status != CUSOLVER_STATUS_SUCCESS) return status;
  static int made = 0;
  *handle = new cusolverDnContext{.varies = ++made % 2 == 0};
  ++solver_handles;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  --solver_handles;
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return Usable(handle);
}
// NOLINTEND(readability-identifier-naming)

namespace hotplate::emulation {

Cusolver CusolverByLapack() {
  Cusolver solver;
  solver.cusolverGetProperty = ::cusolverGetProperty;
  solver.cusolverDnCreate = ::cusolverDnCreate;
  solver.cusolverDnDestroy = ::cusolverDnDestroy;
  solver.cusolverDnSetStream = ::cusolverDnSetStream;
  solver.cusolverDnSetDeterministicMode = SetDeterministicMode;
  solver.in_float = RoutinesFor<float>();
  solver.in_double = RoutinesFor<double>();
  return solver;
}

std::vector<std::string> TakeSolved() { return std::exchange(solver_calls, {}); }

int SolverHandles() { return solver_handles; }

}  // namespace hotplate::emulation
