// Every kernel has everything: a forgotten or misspelt row in one of the tables fails here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "kernels/devices/cpu/launchers.h"
#include "tests/conformance/case.h"

namespace hotplate::conformance {
namespace {

using testing::ContainerEq;

std::set<std::string> InCatalog() {
  std::set<std::string> names;
  for (const SharedSpec& spec : BuiltinCatalog().specs()) names.insert(spec->name());
  return names;
}

TEST(Catalog, IsNotEmpty) { EXPECT_FALSE(InCatalog().empty()); }

TEST(Catalog, EveryKernelHasASuiteWithCases) {
  std::set<std::string> names;
  for (const KernelSuite& suite : KernelSuites()) {
    EXPECT_TRUE(names.insert(suite.kernel).second) << suite.kernel << " is there twice";
    EXPECT_FALSE(suite.cases().empty()) << suite.kernel;
  }
  EXPECT_THAT(names, ContainerEq(InCatalog()));
}

TEST(Catalog, EveryKernelHasACpuLauncher) {
  std::set<std::string> names;
  for (const cpu::Launcher& launcher : cpu::Launchers()) {
    EXPECT_TRUE(names.insert(launcher.name).second) << launcher.name << " is there twice";
  }
  EXPECT_EQ(names.erase("expression"), 1u) << "what runs a user's text";
  EXPECT_THAT(names, ContainerEq(InCatalog()));
}

std::string SourceText(const std::string& path) {
  std::ifstream file(HOTPLATE_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The plug-in may not be built here, so its table is read as text.
TEST(Catalog, EveryKernelHasACudaLauncherUnlessItsSpecSaysNone) {
  const std::string source = SourceText("kernels/catalogue/cuda_table.cpp");
  const std::regex row(R"re(\{\s*"([a-z0-9_]+)")re");
  std::set<std::string> names;
  for (std::sregex_iterator match(source.begin(), source.end(), row), end; match != end; ++match) {
    names.insert((*match)[1]);
  }
  EXPECT_EQ(names.erase("expression"), 1u) << "what runs a user's text";
  for (const SharedSpec& spec : BuiltinCatalog().specs()) {
    if (!spec->cpu_only()) continue;
    EXPECT_TRUE(names.insert(spec->name()).second) << spec->name() << " has a launcher";
    EXPECT_THAT(spec->docs(), testing::HasSubstr("Runs on the CPU only")) << spec->name();
  }
  EXPECT_THAT(names, ContainerEq(InCatalog()));
}

// By name: of what is new the README shall not say that it was verified before somebody saw that.
TEST(Catalog, EveryKernelIsNamedAsVerifiedOnTheCpu) {
  std::istringstream places(SourceText("client/cli/catalogue/verified_on.txt"));
  const std::string place = "CPU x86-64: ";
  std::string line;
  while (std::getline(places, line) && !line.starts_with(place)) {
  }
  ASSERT_TRUE(line.starts_with(place)) << "no line of the CPU";
  std::istringstream words(line.substr(place.size()));
  std::set<std::string> names;
  for (std::string name; words >> name;) names.insert(name);
  EXPECT_THAT(names, ContainerEq(InCatalog()));
}

TEST(Catalog, EveryKernelIsDocumented) {
  for (const SharedSpec& spec : BuiltinCatalog().specs()) {
    EXPECT_FALSE(spec->summary().empty()) << spec->name();
    EXPECT_FALSE(spec->docs().empty()) << spec->name();
    EXPECT_FALSE(spec->cost_text().empty()) << spec->name();
    EXPECT_FALSE(spec->numerics().empty()) << spec->name();
    EXPECT_EQ(spec->example().rfind("hotplate run " + spec->name(), 0), 0u) << spec->name() << ": " << spec->example();
    for (const ParamSpec& param : spec->params()) EXPECT_FALSE(param.docs.empty()) << spec->name() << " " << param.name;
  }
}

TEST(Catalog, EveryKernelOfFloatsSaysWhatBecomesOfNan) {
  for (const SharedSpec& spec : BuiltinCatalog().specs()) {
    const auto& types = spec->type_variables();
    const bool floats = std::any_of(types.begin(), types.end(), [](const TypeVariable& type) {
      return std::count(type.dtypes.begin(), type.dtypes.end(), DType::kFloat64) > 0;
    });
    if (!floats) continue;
    EXPECT_THAT(spec->docs() + spec->numerics(), testing::HasSubstr("NaN")) << spec->name();
  }
}

BoundCall Bound(const std::string& kernel, const std::map<std::string, ParamValue>& params,
                const std::map<std::string, Signature>& inputs) {
  absl::StatusOr<BoundCall> call = (*BuiltinCatalog().Find(kernel))->Bind(params, inputs, HOTPLATE_PRECISION_DEFAULT);
  EXPECT_TRUE(call.ok()) << kernel << ": " << call.status();
  return call.ok() ? *std::move(call) : BoundCall();
}

// Each case of each kernel as its spec takes it, by the kernel's name and the case's. Of their inputs only the
// signatures are kept.
const std::map<std::string, std::map<std::string, BoundCall>>& BoundCases() {
  static const auto& all = *new auto([] {
    std::map<std::string, std::map<std::string, BoundCall>> bound;
    for (const KernelSuite& suite : KernelSuites()) {
      for (const Case& one : suite.cases()) {
        std::mt19937_64 random(1);
        absl::StatusOr<BoundCall> call = Bind(**BuiltinCatalog().Find(suite.kernel), one, one.inputs(random));
        EXPECT_TRUE(call.ok()) << suite.kernel << " " << one.name << ": " << call.status();
        if (call.ok()) bound[suite.kernel].emplace(one.name, *std::move(call));
      }
    }
    return bound;
  }());
  return all;
}

// The values that the calls give a choice, and the dtypes that they give a type variable.
std::set<std::string> Chosen(const std::map<std::string, BoundCall>& calls, const std::string& param) {
  std::set<std::string> chosen;
  for (const auto& [name, call] : calls) chosen.insert(call.Choice(param));
  return chosen;
}

std::set<std::string> TypesOf(const std::map<std::string, BoundCall>& calls, const std::string& variable) {
  std::set<std::string> types;
  for (const auto& [name, call] : calls) {
    const std::vector<ArgumentSpec>& inputs = call.spec->inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].type == variable) types.emplace(Name(call.inputs[i].dtype));
    }
  }
  return types;
}

TEST(Catalog, TheCasesHaveEachTypeAndEachChoiceThatAKernelTakes) {
  for (const SharedSpec& spec : BuiltinCatalog().specs()) {
    ASSERT_TRUE(BoundCases().contains(spec->name())) << spec->name();
    const std::map<std::string, BoundCall>& calls = BoundCases().at(spec->name());
    for (const TypeVariable& variable : spec->type_variables()) {
      std::set<std::string> taken;
      for (const DType dtype : variable.dtypes) taken.emplace(Name(dtype));
      EXPECT_THAT(TypesOf(calls, variable.name), ContainerEq(taken)) << spec->name() << " " << variable.name;
    }
    for (const ParamSpec& param : spec->params()) {
      if (param.choices.empty() || param.name == "axis") continue;  // an axis is one of many alike
      const std::set<std::string> taken(param.choices.begin(), param.choices.end());
      EXPECT_THAT(Chosen(calls, param.name), ContainerEq(taken)) << spec->name() << " " << param.name;
    }
  }
}

// Elements of the largest array; of a kernel that gives a few numbers and takes none, what its calls cost. (Whether one
// is large enough for threads: same_bits_test.)
TEST(Catalog, TheCasesHaveSeveralSizes) {
  for (const auto& [kernel, calls] : BoundCases()) {
    std::set<double> sizes, costs;
    for (const auto& [name, call] : calls) {
      std::size_t elements = 0;
      for (const std::vector<Signature>* arrays : {&call.inputs, &call.outputs}) {
        for (const Signature& array : *arrays) elements = std::max(elements, *ElementCount(array.shape));
      }
      sizes.insert(static_cast<double>(elements));
      const Cost cost = call.spec->CostOf(call);
      costs.insert(cost.flop + cost.bytes);
    }
    EXPECT_GE((*sizes.rbegin() <= 3 ? costs : sizes).size(), 3U) << kernel;
  }
}

// A kernel without one is never run by the thread that submits it, which is slow, and no reason is needed.
TEST(Catalog, ABoundOfTheWorkIsNoLessThanTheCostAndNoLessThanWhatMustBeWritten) {
  int bounded = 0;
  for (const auto& [kernel, calls] : BoundCases()) {
    for (const auto& [name, call] : calls) {
      const std::optional<double> work = call.spec->WorkBoundOf(call);
      if (!work) continue;  // its jobs are left to the lanes
      ++bounded;
      EXPECT_TRUE(std::isfinite(*work)) << kernel << " " << name;
      EXPECT_GE(*work, call.spec->CostOf(call).flop) << kernel << " " << name;
      double elements = 0;
      for (const Signature& output : call.outputs) elements += static_cast<double>(*ElementCount(output.shape));
      EXPECT_GE(*work, elements) << kernel << " " << name;
    }
  }
  EXPECT_GT(bounded, 0);
}

// It would be infinite there, and times zero no number.
TEST(Catalog, ASeluFactorThatIsTooLargeForFloat32IsRefused) {
  const KernelSpec& selu = **BuiltinCatalog().Find("selu");
  const std::map<std::string, Signature> x = {{"x", {.dtype = DType::kFloat32, .shape = {4}}}};
  for (const char* factor : {"alpha", "lambda"}) {
    EXPECT_TRUE(selu.Bind({{factor, -3.4e38}}, x, HOTPLATE_PRECISION_DEFAULT).ok()) << factor;
    const absl::Status status = selu.Bind({{factor, 1e39}}, x, HOTPLATE_PRECISION_DEFAULT).status();
    EXPECT_THAT(status.ToString(),
                testing::HasSubstr(std::string(factor) + " is 1e+39; it must be a finite number from"));
  }
}

TEST(Catalog, WorkGrowsWithParametersWhateverTheSizeOfTheArrays) {
  constexpr double kOneSecond = 1e9;  // at an operation a nanosecond
  const auto work = [](const BoundCall& call) { return call.spec->WorkBoundOf(call).value_or(-1); };
  const auto picture = [&](std::int64_t resolution, std::int64_t iterations) {
    return work(Bound("mandelbrot", {{"resolution", resolution}, {"max_iterations", iterations}}, {}));
  };
  EXPECT_GT(picture(1, 2'147'483'647), kOneSecond);
  EXPECT_GT(picture(128, 2'147'483'647), 128 * 128 * kOneSecond);
  EXPECT_GE(picture(65'536, 2'147'483'647), 10.0 * 65'536 * 65'536 * 2'147'483'647);
  EXPECT_GE(picture(1, 1), 32 * 10) << "points are taken 32 at a time";
  EXPECT_GT(work(Bound("mandelbrot", {}, {})), kOneSecond);
  EXPECT_GT(work(Bound("integrate2d", {}, {})), kOneSecond);
  EXPECT_GT(work(Bound("integrate2d", {{"n", std::int64_t{16'777'216}}}, {})), 1e5 * kOneSecond);
  // Cleared, though nothing is multiplied.
  const Signature column{DType::kFloat32, {1000, 0}}, row{DType::kFloat32, {0, 1000}};
  EXPECT_GE(work(Bound("matmul", {}, {{"a", column}, {"b", row}})), 1e6);
}

TEST(Catalog, NothingIsClaimedForTheWorkOfAPicture) {
  const BoundCall call = Bound("mandelbrot", {{"resolution", std::int64_t{8}}}, {});
  EXPECT_EQ(call.spec->CostOf(call).flop, 0);
}

}  // namespace
}  // namespace hotplate::conformance
