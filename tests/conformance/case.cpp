#include "tests/conformance/case.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace hotplate::conformance {
namespace {

// Floats are poisoned with NaN, which goes from where it is read to where it is seen; integers with a large number.
constexpr std::byte kGuard{0xC3}, kNan{0xFF}, kLarge{0xA7};

}  // namespace

TestArray::TestArray(Signature signature)
    : signature_(std::move(signature)),
      bytes_(ByteSize(signature_).value()),
      buffer_(HostBuffer::Allocate(bytes_ + kGuardBytes)) {
  if (buffer_ == nullptr) std::abort();
  std::memset(buffer_->data() + bytes_, std::to_integer<int>(kGuard), kGuardBytes);
}

void TestArray::CutTo(std::int64_t size) {
  signature_.shape.front() = size;
  bytes_ = ByteSize(signature_).value();
}

TestArray TestArray::Copy() const {
  TestArray copy(signature_);
  std::memcpy(copy.data(), data(), bytes_);
  return copy;
}

void TestArray::Poison() {
  std::memset(buffer_->data(), std::to_integer<int>(IsInteger(signature_.dtype) ? kLarge : kNan), bytes_);
}

bool TestArray::GuardIntact() const {
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    if (buffer_->data()[guard_ + i] != kGuard) return false;
  }
  return true;
}

bool TestArray::SameBytes(const TestArray& other) const {
  return signature_ == other.signature_ && std::memcmp(data(), other.data(), bytes_) == 0;
}

absl::StatusOr<BoundCall> Bind(const KernelSpec& spec, const Case& one, const std::map<std::string, TestArray>& inputs,
                               bool deterministic) {
  std::map<std::string, Signature> signatures;
  for (const auto& [name, array] : inputs) signatures.emplace(name, array.signature());
  for (const auto& [name, other] : one.same_as) signatures.emplace(name, inputs.at(other).signature());
  return spec.Bind(one.params, signatures, one.precision, deterministic);
}

void Verdict::Add(double error_in_bounds, const std::function<std::string()>& describe) {
  if (std::isnan(error_in_bounds)) error_in_bounds = std::numeric_limits<double>::infinity();
  if (error_in_bounds <= error) return;
  error = error_in_bounds;
  worst = describe();
}

void FillUniform(TestArray& array, double low, double high, std::mt19937_64& random) {
  WithType(RealPart(array.signature().dtype), [&](auto zero) {
    using T = decltype(zero);
    for (T& element : array.Elements<T>()) {
      // 53 random bits: the same numbers with every standard library.
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      element = static_cast<T>(low + unit * (high - low));
    }
  });
}

Case OfX(const std::string& name, const Signature& x, double low, double high,
         std::map<std::string, ParamValue> params) {
  return {.name = std::string(Name(x.dtype)) + "_" + name,
          .params = std::move(params),
          .inputs = [=](std::mt19937_64& random) {
            TestArray array(x);
            FillUniform(array, low, high, random);
            return std::map<std::string, TestArray>{{"x", std::move(array)}};
          }};
}

Case OfX(const std::string& name, const Signature& x, const std::function<void(TestArray& x)>& fill,
         std::map<std::string, ParamValue> params) {
  return {
      .name = std::string(Name(x.dtype)) + "_" + name, .params = std::move(params), .inputs = [=](std::mt19937_64&) {
        TestArray array(x);
        fill(array);
        return std::map<std::string, TestArray>{{"x", std::move(array)}};
      }};
}

std::vector<NamedShape> ElementwiseShapes(DType dtype) {
  std::vector<NamedShape> shapes = {{"empty", {0}},       {"scalar", {}},           {"n1", {1}},
                                    {"n33", {33}},        {"n1000", {1000}},        {"r3", {7, 11, 13}},
                                    {"n65537", {65'537}}, {"million", {1025, 1023}}};
  if (dtype == DType::kFloat32) shapes.push_back({"larger_than_caches", {8'400'123}});
  return shapes;
}

}  // namespace hotplate::conformance
