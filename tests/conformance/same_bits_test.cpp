// The same bits at every number of threads: of each kernel whose spec says so, and of one that says so where they are
// asked for. What is different on other threads than these is not told here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/status.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

// Of each input, by name. Those called "a" get a large diagonal: so they have a Cholesky factor too.
Case CaseOf(std::map<std::string, Signature> inputs, std::map<std::string, ParamValue> params = {}) {
  return {.name = "large", .params = std::move(params), .inputs = [inputs](std::mt19937_64& random) {
            std::map<std::string, TestArray> arrays;
            for (const auto& [name, signature] : inputs) {
              TestArray array(signature);
              FillUniform(array, -1, 1, random);
              const auto rows = static_cast<std::size_t>(signature.shape.front());
              const auto columns = static_cast<std::size_t>(signature.shape.back());
              WithTypeOf<float, double>(signature.dtype, [&](auto zero) {
                for (std::size_t i = 0; name == "a" && i < std::min(rows, columns); ++i) {
                  array.Elements<decltype(zero)>()[i * columns + i] += static_cast<decltype(zero)>(rows);
                }
              });
              arrays.emplace(name, std::move(array));
            }
            return arrays;
          }};
}

// Large enough for more than one thread of the library that the kernel calls.
std::vector<Case> LargeCases(const std::string& kernel) {
  std::vector<Case> cases;
  for (const DType t : {DType::kFloat32, DType::kFloat64}) {
    const auto add = [&](std::map<std::string, Shape> shapes, std::map<std::string, ParamValue> params = {}) {
      std::map<std::string, Signature> inputs;
      for (const auto& [name, shape] : shapes) inputs[name] = {t, shape};
      cases.push_back(CaseOf(std::move(inputs), std::move(params)));
    };
    if (kernel == "matmul") add({{"a", {301, 203}}, {"b", {203, 157}}});
    if (kernel == "matmul") add({{"a", {900, 700}}, {"b", {700, 1}}});
    if (kernel == "batched_matvec") add({{"a", {300, 200}}, {"x", {20, 200}}});
    if (kernel == "batched_matvec") add({{"a", {900, 700}}, {"x", {1, 700}}});
    if (kernel == "solve") add({{"a", {250, 250}}, {"b", {250, 30}}});
    if (kernel == "solve") add({{"a", {250, 250}}, {"b", {250}}});
    if (kernel == "cholesky") add({{"a", {250, 250}}});
    if (kernel == "eigh") add({{"a", {150, 150}}});
    if (kernel == "svd") add({{"a", {160, 120}}});
    if (kernel == "svd") add({{"a", {900, 60}}}, {{"compute", std::string("values")}});
  }
  return cases;
}

// The two of a suite with the most bytes, which threads share if they share any.
std::vector<Case> LargestOf(const KernelSuite& suite) {
  std::vector<std::pair<std::size_t, Case>> by_bytes;
  for (const Case& one : suite.cases()) {
    std::mt19937_64 random(1);
    std::size_t bytes = 0;
    for (const auto& [name, array] : one.inputs(random)) bytes += array.bytes();
    by_bytes.emplace_back(bytes, one);
  }
  std::stable_sort(by_bytes.begin(), by_bytes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Case> largest;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, by_bytes.size()); ++i) largest.push_back(by_bytes[i].second);
  return largest;
}

class SameBits : public testing::TestWithParam<KernelSuite> {
 protected:
  static const KernelSpec& Spec() { return **BuiltinCatalog().Find(GetParam().kernel); }

  // The outputs on so many threads.
  static std::map<std::string, TestArray> Outputs(const Case& one, int threads) {
    const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 1, .threads = threads});
    absl::StatusOr<Launch> launch =
        Prepare(GetParam().kernel, one, *device, Spec().determinism() == Determinism::kOnRequest);
    EXPECT_TRUE(launch.ok()) << launch.status();
    if (!launch.ok()) return {};
    TaskControl control;
    const Report report = launch->Run(*device->OpenLane().value(), control);
    EXPECT_TRUE(report.outcome.ok()) << report.outcome.message();
    return std::move(launch->outputs);
  }
};

TEST_P(SameBits, AtEveryNumberOfThreads) {
  std::vector<Case> cases = LargeCases(GetParam().kernel);
  if (Spec().determinism() == Determinism::kOnRequest) {
    ASSERT_THAT(cases, testing::Not(testing::IsEmpty())) << "no case is known that needs to be asked for";
  }
  for (Case& one : LargestOf(GetParam())) cases.push_back(std::move(one));
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    if (Spec().determinism() == Determinism::kNever) {
      const std::unique_ptr<Device> device = OpenCpuDevice({});
      const absl::Status refused = Prepare(GetParam().kernel, one, *device, true).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
      ASSERT_EQ(Violations(refused).size(), 1u);
      EXPECT_EQ(Violations(refused)[0].field, "deterministic");
      continue;
    }
    const std::map<std::string, TestArray> alone = Outputs(one, 1);
    for (const auto& [name, array] : Outputs(one, 3)) {
      EXPECT_TRUE(array.SameBytes(alone.at(name))) << name << " is not the same on 3 threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SameBits, testing::ValuesIn(KernelSuites().begin(), KernelSuites().end()),
                         [](const testing::TestParamInfo<KernelSuite>& one) { return std::string(one.param.kernel); });

}  // namespace
}  // namespace hotplate::conformance
