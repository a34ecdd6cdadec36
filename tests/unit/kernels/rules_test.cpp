#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/nearest_names.h"
#include "kernels/spec/argument_rules.h"
#include "kernels/spec/spec.h"

namespace hotplate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ShapeRuleTest, ReadsAndShows) {
  const std::pair<const char*, const char*> shown[] = {{"", "[]"},
                                                       {"  ", "[]"},
                                                       {"n", "[n]"},
                                                       {"m,k", "[m, k]"},
                                                       {" m , k ", "[m, k]"},
                                                       {"...", "[...]"},
                                                       {"at most n, 3, ...", "[at most n, 3, ...]"},
                                                       {"..., m, 3", "[..., m, 3]"},
                                                       {"broadcast ..., m", "[broadcast ..., m]"}};
  for (const auto& [text, expected] : shown) {
    ASSERT_TRUE(ParseShapeRule(text)) << text;
    EXPECT_EQ(ToString(*ParseShapeRule(text)), expected);
  }
  EXPECT_EQ(ParseShapeRule("m, ..., k")->rest, 1u);
  EXPECT_FALSE(ParseShapeRule("m, k")->rest);
  EXPECT_TRUE(ParseShapeRule(" at most n")->at_most);
  EXPECT_FALSE(ParseShapeRule("m, k")->at_most);
  EXPECT_FALSE(ParseShapeRule("...")->broadcasts);
  EXPECT_TRUE(ParseShapeRule("broadcast ...")->broadcasts);
}

TEST(ShapeRuleTest, RefusesWhatIsNone) {
  for (const char* text :
       {",", "m,", ",m", "m k", "..", "..., ...", "broadcast...", "broadcast ..., ...", "-1", "2n", "n*2", "3.5",
        "99999999999999999999", "at most", "at most ...", "n, at most k", "at most n k"}) {
    EXPECT_FALSE(ParseShapeRule(text)) << text;
  }
}

TEST(TypeRuleTest, ReadsItsKinds) {
  EXPECT_EQ(ParseTypeRule("int32")->fixed, DType::kInt32);
  EXPECT_EQ(ParseTypeRule("T")->variable, "T");
  EXPECT_EQ(ParseTypeRule("T")->change, TypeRule::Change::kNone);
  EXPECT_EQ(ParseTypeRule("float(T)")->variable, "T");
  EXPECT_EQ(ParseTypeRule("float(T)")->change, TypeRule::Change::kFloat);
  EXPECT_EQ(ParseTypeRule("complex(T)")->variable, "T");
  EXPECT_EQ(ParseTypeRule("complex(T)")->change, TypeRule::Change::kComplex);
  for (const char* text : {"", "float(", "float()", "float(T", "complex()", "complex(float(T))", "int(T)", "T U", "3"})
    EXPECT_FALSE(ParseTypeRule(text)) << text;
}

TEST(NearestNamesTest, FindsWhatWasMeant) {
  const std::vector<std::string> kernels = {"integrate2d", "mandelbrot",    "matmul",
                                            "selu",        "trig_identity", "vector_add"};
  EXPECT_THAT(NearestNames("mandlebrot", kernels), ElementsAre("mandelbrot"));
  EXPECT_THAT(NearestNames("Vector-Add", kernels), ElementsAre("vector_add"));
  EXPECT_THAT(NearestNames("integrate", kernels), ElementsAre("integrate2d"));
  EXPECT_THAT(NearestNames("matmull", kernels), ElementsAre("matmul"));
  EXPECT_THAT(NearestNames("trig", kernels), ElementsAre("trig_identity"));
  EXPECT_THAT(NearestNames("slu", kernels), ElementsAre("selu"));
  EXPECT_THAT(NearestNames("seul", kernels), ElementsAre("selu")) << "a swap of two neighbours is one edit";
}

TEST(NearestNamesTest, SaysNothingWhereNothingIsNear) {
  EXPECT_THAT(NearestNames("fft", {"matmul", "selu"}), IsEmpty());
  EXPECT_THAT(NearestNames("", {"matmul"}), IsEmpty());
  EXPECT_THAT(NearestNames("x", {"y", "a"}), IsEmpty()) << "all letters would be wrong";
  EXPECT_THAT(NearestNames(std::string(1'000'000, 'm'), {"matmul"}), IsEmpty());
  EXPECT_THAT(NearestNames("matmul", {}), IsEmpty());
}

// A name that means something else must not be offered: only what fingers get wrong is.
TEST(NearestNamesTest, OffersOnlyMisspellings) {
  EXPECT_THAT(NearestNames("push", {"put", "run"}), IsEmpty()) << "two of four letters";
  EXPECT_THAT(NearestNames("quit", {"wait"}), IsEmpty());
  EXPECT_THAT(NearestNames("cp", {"up"}), IsEmpty()) << "half of a word";
  EXPECT_THAT(NearestNames("cut", {"put"}), IsEmpty()) << "another first letter makes another word";
  EXPECT_THAT(NearestNames("exq", {"exp"}), ElementsAre("exp"));
  EXPECT_THAT(NearestNames("unsubmit", {"submit"}), IsEmpty()) << "the opposite";
  EXPECT_THAT(NearestNames("inactive", {"active"}), IsEmpty());
  EXPECT_THAT(NearestNames("download", {"down"}), IsEmpty()) << "another word";
  EXPECT_THAT(NearestNames("describes", {"describe"}), ElementsAre("describe"));
  EXPECT_THAT(NearestNames("partitoin", {"partitions"}), ElementsAre("partitions"));
  EXPECT_THAT(NearestNames("max_iter", {"max_iterations"}), ElementsAre("max_iterations"));
}

TEST(NearestNamesTest, NearestFirstAndThreeAtMost) {
  EXPECT_THAT(NearestNames("y_mix", {"x_min", "x_max", "y_min", "y_max", "n"}), ElementsAre("y_min", "y_max"));
  EXPECT_THAT(NearestNames("lane", {"plane", "lanes", "lace", "lame"}), ElementsAre("plane", "lanes", "lace"));
}

}  // namespace
}  // namespace hotplate
