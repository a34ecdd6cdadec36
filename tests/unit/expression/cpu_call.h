// Runs texts on the CPU's back-end: CpuCall({{"x", Numbers<float>({1, 2})}}).Run("x + 1").As<float>().
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/catalogue/expression/expression.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "tests/unit/expression/checked.h"

namespace hotplate::expression {

// float16 and complex numbers have no DTypeOf.
struct HalfNumber {
  std::uint16_t bits = 0;
  friend bool operator==(const HalfNumber&, const HalfNumber&) = default;
};

template <typename T>
DType NumberType() {
  if constexpr (std::is_same_v<T, HalfNumber>) {
    return DType::kFloat16;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return DType::kComplex64;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return DType::kComplex128;
  } else {
    return DTypeOf<T>();
  }
}

struct TestNumbers {
  Signature signature;
  std::vector<std::byte> bytes;

  template <typename T>
  std::vector<T> As() const {
    EXPECT_EQ(signature.dtype, NumberType<T>());
    std::vector<T> elements;
    for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
      T element;
      std::memcpy(&element, bytes.data() + i, sizeof element);
      elements.push_back(element);
    }
    return elements;
  }
};

// Without a shape: one axis.
template <typename T>
TestNumbers Numbers(const std::vector<T>& elements, Shape shape = {-1}) {
  if (shape == Shape{-1}) shape = {static_cast<std::int64_t>(elements.size())};
  TestNumbers numbers{.signature = {.dtype = NumberType<T>(), .shape = shape},
                      .bytes = std::vector<std::byte>(elements.size() * sizeof(T))};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T element = elements[i];
    std::memcpy(numbers.bytes.data() + i * sizeof(T), &element, sizeof element);
  }
  return numbers;
}

class CpuCall {
 public:
  explicit CpuCall(std::map<std::string, TestNumbers> inputs, std::map<std::string, double> reals = {},
                   std::map<std::string, std::int64_t> integers = {})
      : inputs_(std::move(inputs)), reals_(std::move(reals)), integers_(std::move(integers)) {}

  // The outcome, with outputs() as it left them.
  Outcome Try(const std::string& text, int threads = 2) {
    std::vector<NamedInput> named;
    std::vector<hotplate_array> inputs, outputs;
    for (auto& [name, numbers] : inputs_) {
      named.push_back({name, numbers.signature});
      inputs.push_back(Plain(name, numbers));
    }
    std::vector<Scalar> scalars;
    std::vector<hotplate_param> params = {{"expression", HOTPLATE_PARAM_CHOICE, 0, 0, text.c_str()}};
    for (const auto& [name, value] : reals_) {
      scalars.push_back({name, DType::kFloat64});
      params.push_back({name.c_str(), HOTPLATE_PARAM_FLOAT, 0, value, nullptr});
    }
    for (const auto& [name, value] : integers_) {
      scalars.push_back({name, DType::kInt64});
      params.push_back({name.c_str(), HOTPLATE_PARAM_INT, value, 0, nullptr});
    }
    const Program program = Checked(text, named, scalars);
    outputs_.clear();
    for (const Output& output : program.outputs) {
      outputs_[output.name] = {output.signature, std::vector<std::byte>(*ByteSize(output.signature), std::byte{0xA5})};
    }
    for (auto& [name, numbers] : outputs_) outputs.push_back(Plain(name, numbers));
    hotplate_call call{};
    call.params = params.data(), call.param_count = static_cast<std::int32_t>(params.size());
    call.inputs = inputs.data(), call.input_count = static_cast<std::int32_t>(inputs.size());
    call.outputs = outputs.data(), call.output_count = static_cast<std::int32_t>(outputs.size());
    ThreadBudget budget(threads, threads);
    CpuContext context(budget, control);
    return RunCpu(Call(call), context);
  }

  // The first output of a text that must succeed.
  TestNumbers Run(const std::string& text, int threads = 2) {
    const Outcome outcome = Try(text, threads);
    EXPECT_TRUE(outcome.ok()) << text << ": " << outcome.message();
    return outputs_.empty() ? TestNumbers{} : outputs_.begin()->second;
  }
  const std::map<std::string, TestNumbers>& outputs() const { return outputs_; }

  hotplate_control control{};

 private:
  static hotplate_array Plain(const std::string& name, TestNumbers& numbers) {
    hotplate_array array{};
    array.name = name.c_str();
    array.dtype = static_cast<std::int32_t>(numbers.signature.dtype);
    array.rank = static_cast<std::int32_t>(numbers.signature.shape.size());
    std::copy(numbers.signature.shape.begin(), numbers.signature.shape.end(), array.shape);
    array.data = numbers.bytes.data();
    array.bytes = numbers.bytes.size();
    return array;
  }

  std::map<std::string, TestNumbers> inputs_, outputs_;
  std::map<std::string, double> reals_;
  std::map<std::string, std::int64_t> integers_;
};

}  // namespace hotplate::expression
