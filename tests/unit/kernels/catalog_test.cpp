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

KernelSpecBuilder Named(const std::string& name) { return KernelSpecBuilder(name, "").Output("o", "int8", ""); }

TEST(CatalogTest, IsSortedAndFindsByName) {
  const Catalog catalog = Catalog::Of({Named("selu"), Named("matmul"), Named("norm")}).value();
  std::vector<std::string> names;
  for (const SharedSpec& spec : catalog.specs()) names.push_back(spec->name());
  EXPECT_THAT(names, ElementsAre("matmul", "norm", "selu"));
  for (const std::string& name : names) {
    const auto found = catalog.Find(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ((*found)->name(), name);
  }
}

TEST(CatalogTest, AnUnknownNameComesWithTheNearest) {
  const Catalog catalog = Catalog::Of({Named("mandelbrot"), Named("matmul")}).value();
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

TEST(CatalogTest, AnEmptyOneFindsNothing) { EXPECT_FALSE(Catalog::Of({})->Find("matmul").ok()); }

TEST(CatalogTest, ABrokenKernelIsNamed) {
  const absl::Status twice = Catalog::Of({Named("selu"), Named("norm"), Named("selu")}).status();
  EXPECT_EQ(twice.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ToStd(twice.message()), "the catalogue has two kernels \"selu\"");
  const absl::Status wrong = Catalog::Of({Named("selu"), KernelSpecBuilder("axpy", ""), Named("norm")}).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ToStd(wrong.message()), "the spec of kernel \"axpy\" is wrong: it has no output");
}

TEST(CatalogTest, ASpecMadeAtRunTimeComesToACopy) {
  const Catalog before = Catalog::Of({Named("matmul"), Named("selu")}).value();
  const auto made = std::make_shared<const KernelSpec>(Named("norm").Build().value());
  const absl::StatusOr<Catalog> after = before.With(made);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(*after->Find("norm"), made);
  EXPECT_EQ(*after->Find("selu"), *before.Find("selu")) << "shared, not copied";
  EXPECT_FALSE(before.Find("norm").ok());
  const absl::Status twice = after->With(made).status();
  EXPECT_EQ(twice.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ToStd(twice.message()), "the catalogue has two kernels \"norm\"");
}

TEST(CatalogTest, NoTwoSpecsHaveOneNumber) {
  const KernelSpec one = Named("selu").Build().value(), same = Named("selu").Build().value();
  EXPECT_EQ(one.Hash(), same.Hash());
  EXPECT_NE(one.number(), same.number());
}

// Each built-in spec is complete: it documents what it takes, and its hash is its own.
TEST(BuiltinCatalogTest, EverySpecIsComplete) {
  ASSERT_TRUE(TryBuiltinCatalog().ok()) << TryBuiltinCatalog().status();
  ASSERT_FALSE(BuiltinCatalog().specs().empty());
  std::set<std::string> hashes;
  for (const SharedSpec& spec : BuiltinCatalog().specs()) {
    SCOPED_TRACE(spec->name());
    EXPECT_NE(spec->summary(), "");
    EXPECT_NE(spec->docs(), "");
    EXPECT_NE(spec->cost_text(), "");
    EXPECT_NE(spec->numerics(), "");
    EXPECT_THAT(spec->example(), HasSubstr("hotplate run " + spec->name()));
    for (const ParamSpec& param : spec->params()) EXPECT_NE(param.docs, "") << param.name;
    for (const std::string& text : {spec->docs(), spec->numerics(), spec->cost_text()}) {
      EXPECT_THAT(text, Not(HasSubstr("  ")));
    }
    EXPECT_TRUE(hashes.insert(spec->Hash()).second);
  }
}

}  // namespace
}  // namespace hotplate
