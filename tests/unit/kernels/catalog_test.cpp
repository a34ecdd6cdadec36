#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/base/status.h"
#include "kernels/spec/spec.h"

namespace hotplate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

KernelSpec Named(const std::string& name) { return KernelSpecBuilder(name, "").Output("o", "int8", "").Build(); }

TEST(CatalogTest, IsSortedAndFindsByName) {
  const Catalog catalog({Named("selu"), Named("matmul"), Named("norm")});
  std::vector<std::string> names;
  for (const KernelSpec& spec : catalog.specs()) names.push_back(spec.name());
  EXPECT_THAT(names, ElementsAre("matmul", "norm", "selu"));
  for (const std::string& name : names) {
    const auto found = catalog.Find(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ((*found)->name(), name);
  }
}

TEST(CatalogTest, AnUnknownNameComesWithTheNearest) {
  const Catalog catalog({Named("mandelbrot"), Named("matmul")});
  const absl::Status status = catalog.Find("mandlebrot").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ToStd(status.message()), "no kernel \"mandlebrot\". Nearest: mandelbrot.");
  ASSERT_EQ(Violations(status).size(), 1u);
  EXPECT_EQ(Violations(status).front().field, "kernel");
  for (const char* name : {"", "fft", "matmul ", "zzz"}) {
    EXPECT_EQ(catalog.Find(name).status().code(), absl::StatusCode::kNotFound) << name;
  }
  EXPECT_EQ(ToStd(catalog.Find("fft").status().message()), "no kernel \"fft\".");
  EXPECT_LT(catalog.Find(std::string(1'000'000, 'm')).status().message().size(), 200u);
}

TEST(CatalogTest, AnEmptyOneFindsNothing) { EXPECT_FALSE(Catalog({}).Find("matmul").ok()); }

TEST(CatalogDeathTest, TwoOfAName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Catalog({Named("selu"), Named("selu")}), "two kernels \"selu\"");
}

// Each built-in spec is complete: it documents what it takes, and its hash is its own.
TEST(BuiltinCatalogTest, EverySpecIsComplete) {
  ASSERT_FALSE(BuiltinCatalog().specs().empty());
  std::set<std::string> hashes;
  for (const KernelSpec& spec : BuiltinCatalog().specs()) {
    SCOPED_TRACE(spec.name());
    EXPECT_NE(spec.summary(), "");
    EXPECT_NE(spec.docs(), "");
    EXPECT_NE(spec.cost_text(), "");
    EXPECT_NE(spec.numerics(), "");
    EXPECT_THAT(spec.example(), HasSubstr("hotplate run " + spec.name()));
    for (const ParamSpec& param : spec.params()) EXPECT_NE(param.docs, "") << param.name;
    for (const std::string& text : {spec.docs(), spec.numerics(), spec.cost_text()}) {
      EXPECT_THAT(text, Not(HasSubstr("  ")));
    }
    EXPECT_TRUE(hashes.insert(spec.Hash()).second);
  }
}

}  // namespace
}  // namespace hotplate
