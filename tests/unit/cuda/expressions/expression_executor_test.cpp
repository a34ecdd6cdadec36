// Expressions from the call to the fake driver and back: printed, compiled for the host by a stand-in for
// hotplate-nvrtc, loaded and launched.
#include <filesystem>

#include "kernels/catalogue/expression/expression.h"
#include "kernels/catalogue/expression/expression_cuda.h"
#include "kernels/devices/cuda/compiler/compiler.h"
#include "kernels/expression/check.h"
#include "kernels/expression/cuda_text.h"
#include "tests/unit/cuda/executor_fixture.h"

namespace hotplate {
namespace {

using testing::HasSubstr;

constexpr CudaLauncher kExpression = {
    "expression",           expression::RunCuda,  expression::ScratchCuda, nullptr, expression::LaneScratchCuda,
    expression::FinishCuda, expression::kCompiler};

class ExpressionTest : public ExecutorTest {
 protected:
  ExpressionTest() : compiler_({.program = HOTPLATE_COMPILE_FOR_HOST, .folder = ""}) {
    setenv("HOTPLATE_SOURCE_DIR", HOTPLATE_SOURCE_DIR, 1);
    setenv("HOTPLATE_HOST_COMPILER", HOTPLATE_HOST_COMPILER, 1);
    options_.compile = Compile;
    options_.compile_user = this;
  }

  static void Compile(void* user, const char* compiler, const char* source, std::int32_t compute,
                      hotplate_cuda_take take, void* to, std::int32_t* cache_hit, hotplate_outcome* outcome) {
    auto& self = *static_cast<ExpressionTest*>(user);
    EXPECT_STREQ(compiler, "libnvrtc.so.13");
    EXPECT_EQ(compute, 90);
    const auto code = self.compiler_.Compile(self.refused_ ? "#error" : source, compute, "/none");
    *outcome = code.ok() ? Outcome::Ok().plain() : Outcome::Failed(std::string(code.status().message())).plain();
    if (!code.ok()) return;
    take(to, code->cubin->data(), code->cubin->size());
    *cache_hit = code->was_there ? 1 : 0;
  }

  // Runs the text over x and y, float64 [3, 4] of 1 to 12 and int64 [4], and the number a; its outputs are float64.
  Outcome Run(const std::string& text, std::vector<std::pair<std::string, std::vector<double>*>> outputs) {
    hotplate_param params[2] = {{.name = "expression", .type = HOTPLATE_PARAM_CHOICE, .text = text.c_str()},
                                {.name = "a", .type = HOTPLATE_PARAM_FLOAT, .real = a_}};
    hotplate_array inputs[2] = {};
    inputs[0] = {.name = "x",
                 .dtype = static_cast<int>(DType::kFloat64),
                 .rank = 2,
                 .shape = {3, 4},
                 .data = x_,
                 .bytes = sizeof x_};
    inputs[1] = {
        .name = "y", .dtype = static_cast<int>(DType::kInt64), .rank = 1, .shape = {4}, .data = y_, .bytes = sizeof y_};
    std::vector<hotplate_array> outs;
    for (auto& [name, values] : outputs) {
      outs.push_back({.name = name.c_str(),
                      .dtype = static_cast<int>(DType::kFloat64),
                      .rank = 1,
                      .shape = {static_cast<std::int64_t>(values->size())},
                      .data = values->data(),
                      .bytes = values->size() * 8});
    }
    hotplate_call call{};
    call.params = params;
    call.param_count = text.ends_with(" + a") ? 2 : 1;
    call.inputs = inputs;
    call.input_count = text.find('y') != std::string::npos ? 2 : 1;
    call.outputs = outs.data();
    call.output_count = static_cast<std::int32_t>(outs.size());
    hotplate_control control{};
    lane().Run(kExpression, call, control, report_);
    return Outcome(report_.outcome);
  }

  CudaCompiler compiler_;
  bool refused_ = false;
  double a_ = 0.5;
  double x_[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::int64_t y_[4] = {3, 2, 1, 0};
  hotplate_cuda_report report_{};
};

TEST_F(ExpressionTest, AreCompiledOnceAndRun) {
  ASSERT_TRUE(Open().ok());
  std::vector<double> z(12);
  ASSERT_TRUE(Run("z = 2*x + a", {{"z", &z}}).ok()) << report_.outcome.message;
  EXPECT_EQ(z[0], 2.5);
  EXPECT_EQ(z[11], 24.5);
  EXPECT_EQ(report_.compile_cache_hit, 0);
  EXPECT_GT(report_.compile_ns, 0u);
  EXPECT_NE(report_.compile_ns, HOTPLATE_CUDA_ABSENT);
  // Other numbers are the same code.
  a_ = 1;
  ASSERT_TRUE(Run("z = 3*x + a", {{"z", &z}}).ok());
  EXPECT_EQ(z[11], 37);
  EXPECT_EQ(report_.compile_cache_hit, 1);
  EXPECT_EQ(report_.compile_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(CallsOf("cuModuleLoadData"), 1);
  EXPECT_EQ(fake_.Counts().modules, 1);
}

TEST_F(ExpressionTest, Reduce) {
  ASSERT_TRUE(Open().ok());
  std::vector<double> s(4), v(1), m(12);
  ASSERT_TRUE(Run("s = sum(x*x, axis=0); v = std(x); m = x - 1", {{"s", &s}, {"v", &v}, {"m", &m}}).ok())
      << report_.outcome.message;
  EXPECT_EQ(s, (std::vector<double>{1 + 25 + 81, 4 + 36 + 100, 9 + 49 + 121, 16 + 64 + 144}));
  EXPECT_DOUBLE_EQ(v[0], 3.452052529534663);
  EXPECT_EQ(m[11], 11);
}

TEST_F(ExpressionTest, SayWhichIndexIsOutOfBounds) {
  ASSERT_TRUE(Open().ok());
  std::vector<double> g(4);
  const std::string text = "g = x[i % 3, y]";
  ASSERT_TRUE(Run(text, {{"g", &g}}).ok()) << report_.outcome.message;
  EXPECT_EQ(g, (std::vector<double>{4, 7, 10, 1}));
  y_[2] = 4, y_[3] = -9;
  const Outcome outcome = Run(text, {{"g", &g}});
  EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
  EXPECT_EQ(outcome.message(), "x: index 4 is out of bounds for axis 1 with size 4");
  y_[2] = 0, y_[3] = 0;
  EXPECT_TRUE(Run(text, {{"g", &g}}).ok());
}

TEST_F(ExpressionTest, SayThatIntegersHaveNegativePowers) {
  ASSERT_TRUE(Open().ok());
  std::vector<double> p(12);
  y_[1] = -1;
  const Outcome outcome = Run("p = x * 2**y", {{"p", &p}});
  EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
  EXPECT_EQ(outcome.message(), "integers to negative integer powers are not allowed; convert one to a float");
}

TEST_F(ExpressionTest, SayWhyTheyAreNotCompiled) {
  ASSERT_TRUE(Open().ok());
  std::vector<double> z(12);
  refused_ = true;
  EXPECT_THAT(std::string(Run("z = x + 1", {{"z", &z}}).message()), HasSubstr("does not take the expression's text"));
  refused_ = false;
  EXPECT_TRUE(Run("z = x + 1", {{"z", &z}}).ok()) << report_.outcome.message;
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

TEST_F(ExpressionTest, MakeRoomForTheirCode) {
  FakeScript script;
  script.fail_call = "cuModuleLoadData";
  script.fail_at = 1;
  script.fail_code = kDriverOutOfMemory;
  ASSERT_TRUE(Open(script).ok());
  std::vector<double> z(12);
  EXPECT_EQ(Run("z = x + 1", {{"z", &z}}).code(), HOTPLATE_OUT_OF_MEMORY) << "there was nothing to give back";
  EXPECT_TRUE(Run("z = x + 1", {{"z", &z}}).ok());
}

// A job that is cancelled waits for the piece that runs.
TEST(FoldGeometry, BoundsThePiecesOfAnyReduction) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 16;  // places that a thread goes through
  for (const std::uint64_t count : {1ull, 1000ull, 10'000'000ull, 1'000'000'000'000ull}) {
    for (const std::uint64_t outputs : {1ull, 100ull, 1'000'000ull}) {
      for (const bool inner : {false, true}) {
        const expression::FoldGeometry how =
            expression::GeometryOf({.outputs = outputs, .count = count, .inner = inner}, 132);
        EXPECT_LE(count / (how.splits * how.lanes), 2 * kMost) << count << " of each of " << outputs;
        EXPECT_GE(how.splits, 1u);
      }
    }
  }
}

}  // namespace
}  // namespace hotplate
