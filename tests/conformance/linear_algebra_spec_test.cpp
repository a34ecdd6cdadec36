// What the specs of linear algebra refuse, and in which words; the shapes that they promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/spec/spec.h"

namespace hotplate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Inputs = std::map<std::string, Shape>;

absl::StatusOr<BoundCall> BindFloats(const char* kernel, const Inputs& shapes,
                                     const std::map<std::string, ParamValue>& params = {}) {
  std::map<std::string, Signature> inputs;
  for (const auto& [name, shape] : shapes) inputs.emplace(name, Signature{.dtype = DType::kFloat32, .shape = shape});
  return (*BuiltinCatalog().Find(kernel))->Bind(params, inputs, HOTPLATE_PRECISION_DEFAULT);
}

std::string Words(const char* kernel, const Inputs& shapes) { return BindFloats(kernel, shapes).status().ToString(); }

std::vector<Shape> Outputs(const char* kernel, const Inputs& shapes,
                           const std::map<std::string, ParamValue>& params = {}) {
  const absl::StatusOr<BoundCall> call = BindFloats(kernel, shapes, params);
  EXPECT_TRUE(call.ok()) << call.status();
  std::vector<Shape> outputs;
  if (call.ok()) {
    for (const Signature& output : call->outputs) outputs.push_back(output.shape);
  }
  return outputs;
}

TEST(LinearAlgebraSpecs, RefuseWhatIsNotSquare) {
  for (const char* kernel : {"cholesky", "eig", "eigh"}) {
    EXPECT_THAT(Words(kernel, {{"a", {3, 4}}}), HasSubstr("a is [3, 4]; it must be a square matrix"));
    EXPECT_THAT(Words(kernel, {{"a", {3}}}), HasSubstr("a is [3]; it must be a square matrix"));
  }
  EXPECT_THAT(Words("solve", {{"a", {3, 4}}, {"b", {3}}}), HasSubstr("a is [3, 4]; it must be a square matrix"));
  EXPECT_THAT(Words("svd", {{"a", {3}}}),
              HasSubstr("a is [3]; it must be a matrix or a stack of matrices, [..., m, n]"));
}

TEST(LinearAlgebraSpecs, RefuseWhatLapackCannotCount) {
  EXPECT_THAT(Words("eigh", {{"a", {32'767, 32'767}}}), HasSubstr("n may be at most 32766"));
  EXPECT_THAT(Words("svd", {{"a", {20'001, 20'001}}}), HasSubstr("the shorter side may have at most 20000"));
  EXPECT_THAT(Words("svd", {{"a", {1, 16'777'217}}}), HasSubstr("the longer at most 16777216"));
  EXPECT_THAT(Words("batched_matvec", {{"a", {1, 0x80000000}}, {"x", {1, 0x80000000}}}),
              HasSubstr("an axis may have at most 2147483647"));
}

TEST(LinearAlgebraSpecs, RefuseWhatDoesNotFit) {
  for (const Shape& b : {Shape{4}, {4, 2}, {2, 4, 1}, {}}) {
    EXPECT_THAT(Words("solve", {{"a", {3, 3}}, {"b", b}}), HasSubstr(" and does not fit a, [3, 3]; ")) << ToString(b);
  }
  EXPECT_THAT(Words("solve", {{"a", {2, 3, 3}}, {"b", {5, 3, 1}}}),
              HasSubstr("b is [5, 3, 1] and does not fit a, [2, 3, 3]; "));
  EXPECT_THAT(Words("batched_matvec", {{"a", {5, 4}}, {"x", {2, 3}}}), HasSubstr("lengths differ: a is [5, 4]"));
  EXPECT_THAT(Words("batched_matvec", {{"a", {3, 5, 4}}, {"x", {2, 4}}}), HasSubstr("batches differ"));
  EXPECT_THAT(Words("batched_matvec", {{"a", {4}}, {"x", {4}}}),
              AllOf(HasSubstr("a is [4]; it must be a matrix, [m, k], or a batch of matrices"),
                    HasSubstr("x is [4]; it must be a batch of vectors, [b, k]")));
}

TEST(LinearAlgebraSpecs, PromiseTheseShapes) {
  EXPECT_THAT(Outputs("svd", {{"a", {2, 5, 3}}}), ElementsAre(Shape{2, 5, 5}, Shape{2, 3}, Shape{2, 3, 3}));
  EXPECT_THAT(Outputs("svd", {{"a", {5, 3}}}, {{"compute", std::string("thin")}}),
              ElementsAre(Shape{5, 3}, Shape{3}, Shape{3, 3}));
  EXPECT_THAT(Outputs("svd", {{"a", {5, 3}}}, {{"compute", std::string("values")}}),
              ElementsAre(Shape{5, 0}, Shape{3}, Shape{0, 3}));
  EXPECT_THAT(Outputs("eig", {{"a", {2, 3, 3}}}), ElementsAre(Shape{2, 3}, Shape{2, 3, 3}));
  EXPECT_THAT(Outputs("eig", {{"a", {3, 3}}}, {{"compute", std::string("values")}}),
              ElementsAre(Shape{3}, Shape{3, 0}));
  EXPECT_THAT(Outputs("eigh", {{"a", {2, 3, 3}}}), ElementsAre(Shape{2, 3}, Shape{2, 3, 3}));
  EXPECT_THAT(Outputs("eigh", {{"a", {3, 3}}}, {{"compute", std::string("values")}}),
              ElementsAre(Shape{3}, Shape{3, 0}));
  EXPECT_THAT(Outputs("solve", {{"a", {3, 3}}, {"b", {3}}}), ElementsAre(Shape{3}));
  EXPECT_THAT(Outputs("solve", {{"a", {2, 3, 3}}, {"b", {2, 3, 7}}}), ElementsAre(Shape{2, 3, 7}));
  EXPECT_THAT(Outputs("solve", {{"a", {5, 1, 3, 3}}, {"b", {4, 3, 7}}}), ElementsAre(Shape{5, 4, 3, 7}));
  EXPECT_THAT(Outputs("solve", {{"a", {5, 4, 3, 3}}, {"b", {3}}}), ElementsAre(Shape{5, 4, 3}));
  EXPECT_THAT(Outputs("fft", {{"x", {5, 8}}}, {{"transform", std::string("rfft")}, {"n", std::int64_t{13}}}),
              ElementsAre(Shape{5, 7}));
  EXPECT_THAT(Outputs("fft", {{"x", {5, 8}}}, {{"n", std::int64_t{3}}}), ElementsAre(Shape{5, 3}));
}

TEST(LinearAlgebraSpecs, CountAMatrixThatSystemsShareOnce) {
  const KernelSpec& spec = **BuiltinCatalog().Find("solve");
  const auto flop = [&](const Shape& a, const Shape& b) {
    const absl::StatusOr<BoundCall> call =
        spec.Bind({}, {{"a", {DType::kFloat64, a}}, {"b", {DType::kFloat64, b}}}, HOTPLATE_PRECISION_DEFAULT);
    return call.ok() ? spec.CostOf(*call).flop : -1;
  };
  EXPECT_DOUBLE_EQ(flop({3, 3}, {3, 2}), 18 + 36);
  EXPECT_DOUBLE_EQ(flop({3, 3}, {10, 3, 2}), 18 + 360);
  EXPECT_DOUBLE_EQ(flop({10, 3, 3}, {3, 2}), 180 + 360);
  EXPECT_DOUBLE_EQ(flop({5, 1, 3, 3}, {4, 3, 2}), 5 * 18 + 20 * 36);
}

}  // namespace
}  // namespace hotplate
