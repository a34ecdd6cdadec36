// The same bits at every number of threads: of each kernel whose spec says so, and of one that says so where they are
// asked for. What is different on other threads than these is not told here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/base/status.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

// Of each input, by name. Those called "a" get a large diagonal: so they have a Cholesky factor too.
Case CaseOf(const std::map<std::string, Signature>& inputs, std::map<std::string, ParamValue> params = {}) {
  return {.name = "large", .params = std::move(params), .inputs = [inputs](std::mt19937_64& random) {
            std::map<std::string, TestArray> arrays;
            for (const auto& [name, signature] : inputs) {
              TestArray array(signature);
              FillUniform(array, -1, 1, random);
              const auto rows = static_cast<std::size_t>(signature.shape.front());
              const auto columns = static_cast<std::size_t>(signature.shape.back());
              const bool is_a = name == "a";
              WithTypeOf<float, double>(signature.dtype, [&](auto zero) {
                for (std::size_t i = 0; is_a && i < std::min(rows, columns); ++i) {
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
    const auto add = [&](const std::map<std::string, Shape>& shapes, std::map<std::string, ParamValue> params = {}) {
      std::map<std::string, Signature> inputs;
      for (const auto& [name, shape] : shapes) inputs[name] = {t, shape};
      cases.push_back(CaseOf(inputs, std::move(params)));
    };
    if (kernel == "matmul") add({{"a", {301, 203}}, {"b", {203, 157}}});
    if (kernel == "matmul") add({{"a", {900, 700}}, {"b", {700, 1}}});
    if (kernel == "matmul") add({{"a", {203, 301}}, {"b", {203, 157}}}, {{"transpose_a", true}});
    if (kernel == "matmul") add({{"a", {3, 257, 203}}, {"b", {3, 157, 203}}}, {{"transpose_b", true}});
    if (kernel == "batched_matvec") add({{"a", {300, 200}}, {"x", {20, 200}}});
    if (kernel == "batched_matvec") add({{"a", {900, 700}}, {"x", {1, 700}}});
    if (kernel == "solve") add({{"a", {250, 250}}, {"b", {250, 30}}});
    if (kernel == "solve") add({{"a", {250, 250}}, {"b", {250}}});
    if (kernel == "slogdet") add({{"a", {250, 250}}});
    if (kernel == "qr") add({{"a", {250, 200}}});
    if (kernel == "cholesky") add({{"a", {250, 250}}});
    if (kernel == "eig") add({{"a", {150, 150}}});
    if (kernel == "eigh") add({{"a", {150, 150}}});
    if (kernel == "svd") add({{"a", {160, 120}}}, {{"compute", std::string("thin")}});
    if (kernel == "norm") add({{"x", {300'001}}});
    if (kernel == "svd") add({{"a", {900, 60}}}, {{"compute", std::string("values")}});
  }
  return cases;
}

// The two of a suite with the most work, which threads share if they share any.
std::vector<Case> LargestOf(const KernelSuite& suite) {
  const KernelSpec& spec = **BuiltinCatalog().Find(suite.kernel);
  std::vector<std::pair<double, Case>> by_work;
  for (const Case& one : suite.cases()) {
    std::mt19937_64 random(1);
    const absl::StatusOr<BoundCall> call = Bind(spec, one, one.inputs(random));
    if (!call.ok() || one.precision != HOTPLATE_PRECISION_DEFAULT) continue;
    const Cost cost = spec.CostOf(*call);
    by_work.emplace_back(cost.flop + cost.bytes, one);
  }
  std::stable_sort(by_work.begin(), by_work.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Case> largest;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, by_work.size()); ++i) largest.push_back(by_work[i].second);
  return largest;
}

class SameBits : public testing::TestWithParam<KernelSuite> {
 protected:
  static const KernelSpec& Spec() { return **BuiltinCatalog().Find(GetParam().kernel); }

  // Run on so many threads, of which it has `used` some; without outputs if that failed.
  static Launch Done(const Case& one, int threads, int& used, bool same_bits) {
    const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 1, .threads = threads});
    absl::StatusOr<Launch> launch =
        Prepare(GetParam().kernel, one, *device, same_bits && Spec().determinism() == Determinism::kOnRequest);
    EXPECT_TRUE(launch.ok()) << launch.status();
    if (!launch.ok()) return {};
    TaskControl control;
    const Report report = launch->Run(*device->OpenLane().value(), control);
    EXPECT_TRUE(report.outcome.ok()) << report.outcome.message();
    if (!report.outcome.ok()) launch->outputs.clear();
    used = std::max(used, report.threads);
    return *std::move(launch);
  }
};

TEST_P(SameBits, AtEveryNumberOfThreads) {
  std::vector<Case> cases = LargeCases(GetParam().kernel);
  if (Spec().determinism() == Determinism::kOnRequest) {
    ASSERT_THAT(cases, testing::Not(testing::IsEmpty())) << "no case is known that needs to be asked for";
  }
  for (Case& one : LargestOf(GetParam())) cases.push_back(std::move(one));
  int used_alone = 0, used_together = 0;
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
    const Launch alone = Done(one, 1, used_alone, true), together = Done(one, 3, used_together, true);
    ASSERT_FALSE(alone.outputs.empty());
    for (const auto& [name, array] : together.outputs) {
      EXPECT_TRUE(array.SameBytes(alone.outputs.at(name))) << name << " is not the same on 3 threads";
    }
    const Verdict verdict = GetParam().verify({together.call, together.inputs, together.outputs});
    EXPECT_LE(verdict.error, 1.0) << verdict.worst;
  }
  if (Spec().determinism() == Determinism::kNever) return;
  EXPECT_EQ(used_alone, 1);
  // Asked for them, one may keep to a thread.
  for (std::size_t i = 0; i < cases.size() && used_together == 1; ++i) Done(cases[i], 3, used_together, false);
  EXPECT_GT(used_together, 1) << "no case is large enough for threads";
}

INSTANTIATE_TEST_SUITE_P(All, SameBits, testing::ValuesIn(KernelSuites().begin(), KernelSuites().end()),
                         [](const testing::TestParamInfo<KernelSuite>& one) { return std::string(one.param.kernel); });

}  // namespace
}  // namespace hotplate::conformance
