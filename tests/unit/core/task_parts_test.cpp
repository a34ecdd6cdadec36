// A task cut into parts: what each sees of the arrays.
#include "server/core/task_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace hotplate::core {
namespace {

// y[..., k] of x[..., 3] and z[...].
const KernelSpec& Rows() {
  static const KernelSpec& spec = *new KernelSpec(KernelSpecBuilder("rows", "rows")
                                                      .Input("x", "float64", "..., 3")
                                                      .Input("z", "int8", "...")
                                                      .Output("y", "float32", "..., k")
                                                      .Shapes([](BoundCall&) { return absl::OkStatus(); })
                                                      .Divisible()
                                                      .Build()
                                                      .value());
  return spec;
}

hotplate_array Array(DType dtype, const Shape& shape, std::byte* data, std::uint64_t identity = 0) {
  hotplate_array array{};
  array.dtype = static_cast<std::int32_t>(dtype);
  array.rank = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), array.shape);
  array.data = data;
  array.bytes = *ByteSize({dtype, shape});
  array.identity = identity;
  return array;
}

class TaskPartsTest : public ::testing::Test {
 protected:
  // Nobody reads there.
  static std::byte* At(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

  Task Whole(std::int64_t batches, std::int64_t rows) {
    inputs_ = {Array(DType::kFloat64, {batches, rows, 3}, At(1 << 20)),
               Array(DType::kInt8, {batches, rows}, At(1 << 30))};
    outputs_ = {Array(DType::kFloat32, {batches, rows, 5}, At(1 << 25))};
    Task task;
    task.kernel = "rows";
    task.call.inputs = inputs_.data();
    task.call.outputs = outputs_.data();
    task.call.input_count = 2;
    task.call.output_count = 1;
    return task;
  }

  std::array<hotplate_array, 2> inputs_;
  std::array<hotplate_array, 1> outputs_;
};

TEST_F(TaskPartsTest, CoverEverythingOnceAndBeginAsArraysDo) {
  for (const std::int64_t rows : {1, 63, 64, 65, 127, 1000, 4097}) {
    for (const std::size_t wanted : {1, 2, 3, 7, 64}) {
      const Task whole = Whole(2, rows);
      const TaskParts parts(Rows(), whole, wanted);
      ASSERT_GE(parts.count(), 1u);
      ASSERT_LE(parts.count(), wanted);
      std::int64_t done = 0;
      for (std::size_t i = 0; i < parts.count(); ++i) {
        const hotplate_call& call = parts.part(i).call;
        const std::int64_t count = call.inputs[0].shape[0];
        EXPECT_GT(count, 0);
        EXPECT_EQ(call.inputs[0].rank, 2);
        EXPECT_EQ(call.inputs[0].shape[1], 3);
        EXPECT_EQ(call.inputs[1].rank, 1);
        EXPECT_EQ(call.inputs[1].shape[0], count);
        EXPECT_EQ(call.outputs[0].shape[0], count);
        EXPECT_EQ(call.outputs[0].shape[1], 5);
        EXPECT_EQ(call.inputs[0].data, At(1 << 20) + done * 3 * 8);
        EXPECT_EQ(call.inputs[1].data, At(1 << 30) + done);
        EXPECT_EQ(call.outputs[0].data, At(1 << 25) + done * 5 * 4);
        EXPECT_EQ(call.inputs[0].bytes, static_cast<std::uint64_t>(count) * 3 * 8);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(call.inputs[1].data) % 64, 0u);
        done += count;
      }
      EXPECT_EQ(done, 2 * rows);
    }
  }
}

TEST_F(TaskPartsTest, HaveNoIdentityOfTheirOwn) {
  Task whole = Whole(1, 1000);
  EXPECT_FALSE(HasNamedArrays(whole));
  outputs_[0].identity = 7;
  EXPECT_TRUE(HasNamedArrays(whole));
  EXPECT_EQ(TaskParts(Rows(), whole, 2).part(1).call.outputs[0].identity, 0u);
  EXPECT_EQ(ArrayBytes(whole), 1000u * (24 + 1 + 20));
}

TEST_F(TaskPartsTest, OfNothingIsOne) {
  const Task whole = Whole(0, 5);
  const TaskParts parts(Rows(), whole, 3);
  ASSERT_EQ(parts.count(), 1u);
  EXPECT_EQ(parts.part(0).call.inputs[0].bytes, 0u);
}

}  // namespace
}  // namespace hotplate::core
