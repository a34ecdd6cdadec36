// How a call ends whose matrix LAPACK gives up, on the CPU: this program's own ?syevd_, ?gesdd_ and ?geev_ come before
// the library's, since no input is known for which that does not converge.
#include <gtest/gtest.h>

#include <complex>
#include <tuple>
#include <vector>

#include "kernels/devices/cpu/lapack.h"
#include "tests/conformance/bad_data.h"
#include "tests/conformance/launch.h"

namespace {

int matrices_that_converge = 0, info_of_the_next = 0;

// The sizes asked for, or the end of an iteration.
template <typename Work>
void End(Work* work, int lwork, int* iwork, int* info) {
  *info = 0;
  if (lwork == -1) {
    *work = 10'000;
    if (iwork != nullptr) *iwork = 10'000;
  } else if (matrices_that_converge-- == 0) {
    *info = info_of_the_next;
  }
}

}  // namespace

extern "C" {
void ssyevd_(const char*, const char*, const int*, float*, const int*, float*, float* work, const int* lwork,
             int* iwork, const int*, int* info, std::size_t, std::size_t) {
  End(work, *lwork, iwork, info);
}
void sgesdd_(const char*, const int*, const int*, float*, const int*, float*, float*, const int*, float*, const int*,
             float* work, const int* lwork, int* iwork, int* info, std::size_t) {
  End(work, *lwork, iwork, info);
}
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double* work, const int* lwork,
             int* iwork, const int*, int* info, std::size_t, std::size_t) {
  End(work, *lwork, iwork, info);
}
void dgesdd_(const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*,
             const int*, double* work, const int* lwork, int* iwork, int* info, std::size_t) {
  End(work, *lwork, iwork, info);
}
void sgeev_(const char*, const char*, const int*, float*, const int*, float*, float*, float*, const int*, float*,
            const int*, float* work, const int* lwork, int* info, std::size_t, std::size_t) {
  End(work, *lwork, nullptr, info);
}
void dgeev_(const char*, const char*, const int*, double*, const int*, double*, double*, double*, const int*, double*,
            const int*, double* work, const int* lwork, int* info, std::size_t, std::size_t) {
  End(work, *lwork, nullptr, info);
}
void cgeev_(const char*, const char*, const int*, std::complex<float>*, const int*, std::complex<float>*,
            std::complex<float>*, const int*, std::complex<float>*, const int*, std::complex<float>* work,
            const int* lwork, float*, int* info, std::size_t, std::size_t) {
  End(work, *lwork, nullptr, info);
}
void zgeev_(const char*, const char*, const int*, std::complex<double>*, const int*, std::complex<double>*,
            std::complex<double>*, const int*, std::complex<double>*, const int*, std::complex<double>* work,
            const int* lwork, double*, int* info, std::size_t, std::size_t) {
  End(work, *lwork, nullptr, info);
}
}

namespace hotplate::conformance {
namespace {

TEST(NoConvergence, EndsInWordsThatSayWhichMatrixAndWhatToDo) {
  const std::unique_ptr<Device> device = OpenCpuDevice({});
  const struct {
    const char* kernel;
    int info;
    std::string meaning;
    std::vector<DType> dtypes = {DType::kFloat32, DType::kFloat64};
  } kGivenUp[] = {{"eig",
                   2,
                   "2: it found the last 4 of 6 eigenvalues",
                   {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128}},
                  {"eigh", 3, kThreeLeft},
                  {"eigh", 2 * 7 + 5, "19: it stopped at rows 2 to 5 of the tridiagonal form"},
                  {"svd", 1, "1"}};
  for (const auto& [kernel, info, meaning, dtypes] : kGivenUp) {
    for (const DType dtype : dtypes) {
      SCOPED_TRACE(std::string(kernel) + " " + meaning + " " + std::string(Name(dtype)));
      for (const auto& [shape, at, words] :
           {std::tuple(Shape{6, 6}, 0, "a: "), {Shape{3, 6, 6}, 1, "matrix 1 of the 3 in a (counted from 0): "}}) {
        const Signature matrices{.dtype = dtype, .shape = shape};
        const Case one{.name = "given_up", .params = {}, .inputs = [matrices](std::mt19937_64& random) {
                         TestArray a(matrices);
                         FillUniform(a, -1, 1, random);
                         return std::map<std::string, TestArray>{{"a", std::move(a)}};
                       }};
        absl::StatusOr<Launch> launch = Prepare(kernel, one, *device);
        ASSERT_TRUE(launch.ok()) << launch.status();
        matrices_that_converge = at;
        info_of_the_next = info;
        TaskControl control;
        const Report report = launch->Run(*device->OpenLane().value(), control);
        EXPECT_EQ(report.outcome.code(), HOTPLATE_FAILED);
        EXPECT_EQ(std::string(report.outcome.message()), words + GivenUp(meaning, dtype));
      }
    }
  }
}

}  // namespace
}  // namespace hotplate::conformance
