// One case of the conformance suite: a kernel's call with its input data, and what came back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/array/host_buffer.h"
#include "kernels/spec/spec.h"

namespace hotplate::conformance {

// An array in host memory with a few guard bytes behind it.
class TestArray {
 public:
  explicit TestArray(Signature signature);

  // What an output was when it had been planned, and the kernel has said how many of the first dimension there are.
  void CutTo(std::int64_t size);

  // Independent of this one from now on.
  TestArray Copy() const;

  const Signature& signature() const { return signature_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return bytes_ / SizeOf(signature_.dtype); }
  void* data() { return buffer_->data(); }
  const void* data() const { return buffer_->data(); }

  template <typename T>
  std::span<T> Elements() {
    return {reinterpret_cast<T*>(buffer_->data()), bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> Elements() const {
    return {reinterpret_cast<const T*>(buffer_->data()), bytes_ / sizeof(T)};
  }

  // A pattern that hardly a result has: what is not written shows, and what is read before it was.
  void Poison();
  bool GuardIntact() const;
  bool SameBytes(const TestArray& other) const;

 private:
  static constexpr std::size_t kGuardBytes = 256;

  Signature signature_;
  std::size_t bytes_;
  std::size_t guard_ = bytes_;  // where it begins
  std::shared_ptr<HostBuffer> buffer_;
};

struct Case {
  std::string name;  // letters, digits and underscores; unique within the kernel
  std::map<std::string, ParamValue> params;
  // Made when the case runs; the generator is seeded from the case's name.
  std::function<std::map<std::string, TestArray>(std::mt19937_64&)> inputs;
  // Inputs of this call that are one and the same array: the second name shares the first one's memory.
  std::map<std::string, std::string> same_as = {};
  int precision = HOTPLATE_PRECISION_DEFAULT;  // another one a device may refuse
};

// As the spec takes the case's call with these inputs.
absl::StatusOr<BoundCall> Bind(const KernelSpec& spec, const Case& one, const std::map<std::string, TestArray>& inputs,
                               bool deterministic = false);

// What a verifier sees: the bound call, and every array by name.
struct Executed {
  const BoundCall& call;
  const std::map<std::string, TestArray>& inputs;
  const std::map<std::string, TestArray>& outputs;

  const TestArray& Input(const std::string& name) const { return inputs.at(name); }
  const TestArray& Output(const std::string& name) const { return outputs.at(name); }
};

// The largest error, in units of the bound that the spec states: at most 1 is right.
struct Verdict {
  double error = 0;
  std::string worst;  // where, and what was expected

  // NaN counts as infinitely wrong.
  void Add(double error_in_bounds, const std::function<std::string()>& describe);
};

struct KernelSuite {
  const char* kernel;
  std::vector<Case> (*cases)();
  Verdict (*verify)(const Executed& executed);
};

// The table: verifiers.cpp.
std::span<const KernelSuite> KernelSuites();

// Random elements between low and high (integers: rounded towards zero; complex numbers: both parts).
void FillUniform(TestArray& array, double low, double high, std::mt19937_64& random);

// Calls body with a value-initialised T: the one of the list that the dtype is of.
template <typename First, typename... Others, typename Body>
auto WithTypeOf(DType dtype, const Body& body) {
  if (dtype == DTypeOf<First>()) return body(First{});
  if constexpr (sizeof...(Others) > 0) {
    return WithTypeOf<Others...>(dtype, body);
  } else {
    std::abort();
  }
}

// The same for most kernels' types.
template <typename Body>
auto WithType(DType dtype, const Body& body) {
  return WithTypeOf<std::int32_t, std::int64_t, float, double>(dtype, body);
}

// The same for all real types but the short floats.
template <typename Body>
auto WithReal(DType dtype, const Body& body) {
  return WithTypeOf<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                    std::uint32_t, std::uint64_t, float, double>(dtype, body);
}

// A call with one input, x, of random elements between low and high, or as `fill` makes it.
Case OfX(const std::string& name, const Signature& x, double low, double high,
         std::map<std::string, ParamValue> params = {});
Case OfX(const std::string& name, const Signature& x, const std::function<void(TestArray& x)>& fill,
         std::map<std::string, ParamValue> params = {});

// In front of the elements, which are more: those that go wrong first.
template <typename T>
void PutExtremes(std::span<T> elements) {
  using Limits = std::numeric_limits<T>;
  elements[0] = Limits::max(), elements[1] = Limits::lowest(), elements[2] = Limits::min();
  if constexpr (std::is_floating_point_v<T>) {
    elements[3] = Limits::quiet_NaN(), elements[4] = Limits::infinity(), elements[5] = -Limits::infinity();
    elements[6] = Limits::denorm_min(), elements[7] = -Limits::denorm_min(), elements[8] = T(-0.0);
  }
}

// Shapes that every elementwise kernel is run with, by a name for each. One is large enough for an output that a
// back-end treats as too large for the caches; it comes with float32 only, since it takes time to verify.
struct NamedShape {
  const char* name;
  Shape shape;
};
std::vector<NamedShape> ElementwiseShapes(DType dtype);

}  // namespace hotplate::conformance
