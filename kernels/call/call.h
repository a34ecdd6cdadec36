// A kernel's view of one call: its parameters and arrays by name, already checked against the spec.
// Standard library only; compiled by the host compiler and by nvcc.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "kernels/array/dtype.h"
#include "kernels/call/abi.h"

namespace hotplate {

// The name of a precision in requests; null for a number that is not a hotplate_precision.
inline const char* PrecisionName(int precision) {
  switch (precision) {
    case HOTPLATE_PRECISION_DEFAULT:
      return "default";
    case HOTPLATE_PRECISION_TF32:
      return "tf32";
    case HOTPLATE_PRECISION_BF16:
      return "bf16";
    case HOTPLATE_PRECISION_F16:
      return "f16";
    default:
      return nullptr;
  }
}

// How a kernel ended. Small, copyable, without allocation.
class Outcome {
 public:
  static Outcome Ok() { return Outcome(HOTPLATE_OK, ""); }
  // With something that the caller should know of: a RuntimeWarning of NumPy's.
  static Outcome OkWithWarning(std::string_view warning) { return Outcome(HOTPLATE_OK, warning); }
  static Outcome Cancelled() { return Outcome(HOTPLATE_CANCELLED, "cancelled"); }
  static Outcome Invalid(std::string_view message) { return Outcome(HOTPLATE_INVALID, message); }
  static Outcome OutOfMemory(std::string_view message) { return Outcome(HOTPLATE_OUT_OF_MEMORY, message); }
  static Outcome Failed(std::string_view message) { return Outcome(HOTPLATE_FAILED, message); }
  static Outcome DeviceLost(std::string_view message) { return Outcome(HOTPLATE_DEVICE_LOST, message); }

  explicit Outcome(const hotplate_outcome& plain) : plain_(plain) {}

  bool ok() const { return plain_.code == HOTPLATE_OK; }
  int code() const { return plain_.code; }
  std::string_view message() const { return plain_.message; }
  const hotplate_outcome& plain() const { return plain_; }

 private:
  Outcome(int code, std::string_view message) {
    plain_.code = code;
    const std::size_t length = message.size() < sizeof plain_.message ? message.size() : sizeof plain_.message - 1;
    std::memcpy(plain_.message, message.data(), length);
    plain_.message[length] = '\0';
  }

  hotplate_outcome plain_;
};

// A name that the kernel's own spec does not have is a defect of the kernel, not of the input: it ends the process.
class Call {
 public:
  explicit Call(const hotplate_call& plain) : plain_(&plain) {}

  std::int64_t Int(std::string_view param) const { return Find(params(), param).integer; }
  double Float(std::string_view param) const { return Find(params(), param).real; }
  bool Bool(std::string_view param) const { return Find(params(), param).integer != 0; }
  std::string_view Choice(std::string_view param) const { return Find(params(), param).text; }
  int precision() const { return plain_->precision; }

  const hotplate_array& InputArray(std::string_view name) const { return Find(inputs(), name); }
  const hotplate_array& OutputArray(std::string_view name) const { return Find(outputs(), name); }

  DType InputType(std::string_view name) const { return static_cast<DType>(InputArray(name).dtype); }
  DType OutputType(std::string_view name) const { return static_cast<DType>(OutputArray(name).dtype); }

  // Elements in C order. T must be the array's own type.
  template <typename T>
  std::span<const T> Input(std::string_view name) const {
    const hotplate_array& array = InputArray(name);
    return {static_cast<const T*>(array.data), static_cast<std::size_t>(array.bytes) / sizeof(T)};
  }
  template <typename T>
  std::span<T> Output(std::string_view name) const {
    const hotplate_array& array = OutputArray(name);
    return {static_cast<T*>(array.data), static_cast<std::size_t>(array.bytes) / sizeof(T)};
  }

  // Sets the number of elements of an output whose shape is "at most n". They come first.
  void SetSize(std::string_view output, std::uint64_t size) const {
    *OutputArray(output).actual_size = static_cast<std::int64_t>(size);
  }

  std::span<std::byte> scratch() const {
    return {static_cast<std::byte*>(plain_->scratch), static_cast<std::size_t>(plain_->scratch_bytes)};
  }

  std::span<const hotplate_param> params() const { return Of(plain_->params, plain_->param_count); }
  std::span<const hotplate_array> inputs() const { return Of(plain_->inputs, plain_->input_count); }
  std::span<const hotplate_array> outputs() const { return Of(plain_->outputs, plain_->output_count); }

 private:
  template <typename T>
  static std::span<const T> Of(const T* first, std::int32_t count) {
    return {first, static_cast<std::size_t>(count)};
  }
  template <typename T>
  static const T& Find(std::span<const T> all, std::string_view name) {
    for (const T& one : all) {
      if (name == one.name) return one;
    }
    std::fprintf(stderr, "hotplate: a kernel asked for \"%.*s\", which its spec does not have\n",
                 static_cast<int>(name.size()), name.data());
    std::abort();
  }

  const hotplate_call* plain_;
};

}  // namespace hotplate
