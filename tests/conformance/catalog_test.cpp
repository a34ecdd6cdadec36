// Every kernel has everything: a forgotten or misspelt row in one of the tables fails here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "kernels/cpu/launchers.h"
#include "tests/conformance/case.h"

namespace hotplate::conformance {
namespace {

using testing::ContainerEq;

std::set<std::string> InCatalog() {
  std::set<std::string> names;
  for (const KernelSpec& spec : BuiltinCatalog().specs()) names.insert(spec.name());
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
  EXPECT_THAT(names, ContainerEq(InCatalog()));
}

// The plug-in may not be built here, so its table is read as text.
TEST(Catalog, EveryKernelHasACudaLauncher) {
  const std::string path = HOTPLATE_SOURCE_DIR "/kernels/cuda/launchers.cpp";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  const std::string source = text.str();
  const std::regex row(R"re(\{\s*"([a-z0-9_]+)")re");
  std::set<std::string> names;
  for (std::sregex_iterator match(source.begin(), source.end(), row), end; match != end; ++match) {
    names.insert((*match)[1]);
  }
  EXPECT_THAT(names, ContainerEq(InCatalog()));
}

TEST(Catalog, EveryKernelIsDocumented) {
  for (const KernelSpec& spec : BuiltinCatalog().specs()) {
    EXPECT_FALSE(spec.summary().empty()) << spec.name();
    EXPECT_FALSE(spec.docs().empty()) << spec.name();
    EXPECT_FALSE(spec.cost_text().empty()) << spec.name();
    EXPECT_FALSE(spec.numerics().empty()) << spec.name();
    EXPECT_EQ(spec.example().rfind("hotplate run " + spec.name(), 0), 0u) << spec.name() << ": " << spec.example();
    for (const ParamSpec& param : spec.params()) EXPECT_FALSE(param.docs.empty()) << spec.name() << " " << param.name;
  }
}

// Parameters become options of `hotplate run`, beside its own.
TEST(Catalog, NoParameterClashesWithAnOption) {
  const std::set<std::string> options = {"json",     "quiet",      "output",  "name",       "device", "precision",
                                         "priority", "time-limit", "dry-run", "detach",     "keep",   "server",
                                         "timeout",  "help",       "labels",  "request-id", "version"};
  for (const KernelSpec& spec : BuiltinCatalog().specs()) {
    for (const ParamSpec& param : spec.params()) {
      std::string option = param.name;
      std::replace(option.begin(), option.end(), '_', '-');
      EXPECT_FALSE(options.contains(option)) << spec.name() << " " << param.name;
    }
  }
}

}  // namespace
}  // namespace hotplate::conformance
