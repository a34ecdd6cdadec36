#include "tests/unit/cuda/emulation/cufft_by_sums.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <numbers>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/unit/cuda/emulation/library_faults.h"

namespace {

struct FourierPlan {
  cudaStream_t stream = nullptr;
  bool allocates = true, made = false;
  cufftType type = CUFFT_C2C;
  std::uint64_t count = 0, rows = 0, columns = 0;
  std::size_t workspace_bytes = 0;
  void* workspace = nullptr;  // for the next transform
};

std::map<cufftHandle, FourierPlan> fourier_plans;
std::vector<std::string> fourier_calls;

bool FromReal(cufftType type) { return type == CUFFT_R2C || type == CUFFT_D2Z; }
bool ToReal(cufftType type) { return type == CUFFT_C2R || type == CUFFT_Z2D; }

const char* NameOf(cufftType type) {
  constexpr const char* kNames[] = {"C2C", "R2C", "C2R", "Z2Z", "D2Z", "Z2D"};
  return kNames[type];
}

using Number = std::complex<long double>;

// `count` numbers, `stride` apart.
void TakeSums(Number* first, std::uint64_t count, std::uint64_t stride, int sign) {
  std::vector<Number> roots(count), sums(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(count);
    roots[k] = {std::cos(angle), static_cast<long double>(sign) * std::sin(angle)};
  }
  for (std::uint64_t k = 0; k < count; ++k) {
    long double real = 0, imaginary = 0;
    for (std::uint64_t j = 0, at = 0; j < count; ++j, at = (at + k) % count) {
      const Number x = first[j * stride], root = roots[at];
      real += x.real() * root.real() - x.imag() * root.imag();
      imaginary += x.real() * root.imag() + x.imag() * root.real();
    }
    sums[k] = {real, imaginary};
  }
  for (std::uint64_t k = 0; k < count; ++k) first[k * stride] = sums[k];
}

bool IsOfRealNumbers(const Number* x, std::uint64_t rows, std::uint64_t columns) {
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (const std::uint64_t c : {std::uint64_t{0}, columns / 2}) {
      if (2 * c % columns != 0) continue;
      const Number& mirror = x[(rows - r) % rows * columns + c];
      if (std::abs(x[r * columns + c] - std::conj(mirror)) > 1e-6) return false;
    }
  }
  return true;
}

template <typename T>
cufftResult Transform(const FourierPlan& plan, int direction, T* from, T* to) {
  const std::uint64_t rows = plan.rows, columns = plan.columns, half = columns / 2 + 1;
  const bool real_in = FromReal(plan.type), real_out = ToReal(plan.type);
  std::vector<Number> x(rows * columns);
  for (std::uint64_t i = 0; i < plan.count; ++i) {
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (std::uint64_t c = 0; c < columns; ++c) {
        const bool mirrored = real_out && c >= half;
        const std::uint64_t row = (i * rows + (mirrored ? (rows - r) % rows : r));
        const std::uint64_t at = real_out ? row * half + (mirrored ? columns - c : c) : row * columns + c;
        x[r * columns + c] = real_in ? Number(from[at], 0) : Number(from[2 * at], from[2 * at + 1]);
        if (mirrored) x[r * columns + c] = std::conj(x[r * columns + c]);
      }
    }
    if (real_out && !IsOfRealNumbers(x.data(), rows, columns)) return CUFFT_INVALID_VALUE;
    for (std::uint64_t r = 0; r < rows; ++r) TakeSums(&x[r * columns], columns, 1, direction);
    for (std::uint64_t c = 0; c < columns && rows > 1; ++c) TakeSums(&x[c], rows, columns, direction);
    const std::uint64_t width = real_in ? half : columns;
    for (std::uint64_t at = 0; at < rows * width; ++at) {
      const Number& value = x[at / width * columns + at % width];
      T* const place = to + (i * rows * width + at) * (real_out ? 1 : 2);
      place[0] = static_cast<T>(value.real());
      if (!real_out) place[1] = static_cast<T>(value.imag());
    }
  }
  if (real_out) std::memset(from, 0xA5, plan.count * rows * half * 2 * sizeof(T));
  return CUFFT_SUCCESS;
}

// The plan that a call is for; null, and `status`, if it is for none.
FourierPlan* PlanOf(cufftHandle handle, cufftResult& status) {
  const auto found = fourier_plans.find(handle);
  status = CUFFT_SUCCESS;
  if (found == fourier_plans.end()) status = CUFFT_INVALID_PLAN;
  if (hotplate::emulation::fault.IsNow()) {
    status = hotplate::emulation::fault.of_memory ? CUFFT_ALLOC_FAILED : CUFFT_INTERNAL_ERROR;
  }
  return status == CUFFT_SUCCESS ? &found->second : nullptr;
}

template <typename From, typename To>
cufftResult Execute(cufftHandle handle, cufftType type, From* from, To* to, int direction) {
  using T = std::conditional_t<sizeof(From) == sizeof(cufftDoubleComplex) || sizeof(To) == sizeof(cufftDoubleComplex),
                               double, float>;
  cufftResult status = CUFFT_SUCCESS;
  FourierPlan* const plan = PlanOf(handle, status);
  if (plan == nullptr) return status;
  if (!plan->made || plan->stream != hotplate::emulation::LaneStream()) return CUFFT_INVALID_PLAN;
  if (plan->type != type) return CUFFT_INVALID_TYPE;
  const bool in_place = reinterpret_cast<void*>(from) == reinterpret_cast<void*>(to);
  void* const workspace = std::exchange(plan->workspace, nullptr);
  if (workspace == nullptr || reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0 ||
      (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) || (in_place && !std::is_same_v<From, To>)) {
    return CUFFT_INVALID_VALUE;
  }
  std::memset(workspace, 0xA5, plan->workspace_bytes);
  const std::string size =
      plan->rows == 1 ? absl::StrCat(plan->columns) : absl::StrCat("[", plan->rows, " x ", plan->columns, "]");
  fourier_calls.push_back(
      absl::StrCat(NameOf(type), " ", plan->count, " x ", size, direction == CUFFT_FORWARD ? " forward" : " inverse"));
  return Transform(*plan, direction, reinterpret_cast<T*>(from), reinterpret_cast<T*>(to));
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names.
cufftResult cufftGetProperty(libraryPropertyType, int* value) {
  *value = 0;
  return CUFFT_SUCCESS;
}
cufftResult cufftCreate(cufftHandle* plan) {
  static cufftHandle made = 0;
  fourier_plans[++made] = {};
  *plan = made;
  cufftResult status = CUFFT_SUCCESS;
  if (PlanOf(made, status) == nullptr) fourier_plans.erase(made);
  return status;
}
cufftResult cufftDestroy(cufftHandle plan) {
  return fourier_plans.erase(plan) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  cufftResult status = CUFFT_SUCCESS;
  if (FourierPlan* const plan = PlanOf(handle, status)) plan->stream = stream;
  return status;
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic) {
  cufftResult status = CUFFT_SUCCESS;
  if (FourierPlan* const plan = PlanOf(handle, status)) plan->allocates = automatic != 0;
  return status;
}
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* sizes, long long* in_embed, long long,
                                long long, long long* out_embed, long long, long long, cufftType type, long long count,
                                std::size_t* workspace_bytes) {
  cufftResult status = CUFFT_SUCCESS;
  FourierPlan* const plan = PlanOf(handle, status);
  if (plan == nullptr) return status;
  if (plan->made) return CUFFT_INVALID_PLAN;
  if (plan->allocates) return CUFFT_ALLOC_FAILED;  // all of the device's memory is the executor's
  if (rank < 1 || rank > 2 || in_embed != nullptr || out_embed != nullptr || count < 1) return CUFFT_INVALID_VALUE;
  plan->made = true;
  plan->type = type;
  plan->count = static_cast<std::uint64_t>(count);
  plan->rows = rank == 1 ? 1 : static_cast<std::uint64_t>(sizes[0]);
  plan->columns = static_cast<std::uint64_t>(sizes[rank - 1]);
  *workspace_bytes = plan->workspace_bytes = 16 * plan->rows + 4 * plan->columns + plan->count % 100 + 7;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetWorkArea(cufftHandle handle, void* workspace) {
  cufftResult status = CUFFT_SUCCESS;
  if (FourierPlan* const plan = PlanOf(handle, status)) plan->workspace = workspace;
  return status;
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* from, cufftComplex* to, int direction) {
  return Execute(plan, CUFFT_C2C, from, to, direction);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleComplex* to, int direction) {
  return Execute(plan, CUFFT_Z2Z, from, to, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* from, cufftComplex* to) {
  return Execute(plan, CUFFT_R2C, from, to, CUFFT_FORWARD);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* from, cufftDoubleComplex* to) {
  return Execute(plan, CUFFT_D2Z, from, to, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* from, cufftReal* to) {
  return Execute(plan, CUFFT_C2R, from, to, CUFFT_INVERSE);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleReal* to) {
  return Execute(plan, CUFFT_Z2D, from, to, CUFFT_INVERSE);
}
// NOLINTEND(readability-identifier-naming)

namespace hotplate::emulation {

Cufft CufftBySums() {
  Cufft cufft;
  cufft.cufftGetProperty = ::cufftGetProperty;
  cufft.cufftCreate = ::cufftCreate;
  cufft.cufftDestroy = ::cufftDestroy;
  cufft.cufftSetStream = ::cufftSetStream;
  cufft.cufftSetAutoAllocation = ::cufftSetAutoAllocation;
  cufft.cufftMakePlanMany64 = ::cufftMakePlanMany64;
  cufft.cufftSetWorkArea = ::cufftSetWorkArea;
  cufft.cufftExecC2C = ::cufftExecC2C;
  cufft.cufftExecZ2Z = ::cufftExecZ2Z;
  cufft.cufftExecR2C = ::cufftExecR2C;
  cufft.cufftExecD2Z = ::cufftExecD2Z;
  cufft.cufftExecC2R = ::cufftExecC2R;
  cufft.cufftExecZ2D = ::cufftExecZ2D;
  return cufft;
}

std::vector<std::string> TakeTransformed() { return std::exchange(fourier_calls, {}); }

int FourierPlans() { return static_cast<int>(fourier_plans.size()); }

}  // namespace hotplate::emulation
