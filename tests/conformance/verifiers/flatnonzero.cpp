// Positions one after the other, by comparing each element with zero: short floats as their bits are defined.
#include <cmath>
#include <cstring>
#include <string_view>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace flatnonzero_verifier {

std::vector<DType> AllTypes() {
  std::vector<DType> all;
  for (int number = 1; number <= kDTypeCount; ++number) all.push_back(*DTypeFromNumber(number));
  return all;
}

bool ShortFloatIsZero(std::uint16_t bits) { return bits == 0 || bits == 0x8000; }

bool IsZero(const TestArray& x, std::size_t i) {
  const DType dtype = x.signature().dtype;
  if (dtype == DType::kBool) return x.Elements<unsigned char>()[i] == 0;
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) return ShortFloatIsZero(x.Elements<std::uint16_t>()[i]);
  if (dtype == DType::kComplex64) return x.Elements<float>()[2 * i] == 0 && x.Elements<float>()[2 * i + 1] == 0;
  if (dtype == DType::kComplex128) return x.Elements<double>()[2 * i] == 0 && x.Elements<double>()[2 * i + 1] == 0;
  return WithTypeOf<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                    std::uint64_t, float, double>(
      dtype, [&](auto zero) { return x.Elements<decltype(zero)>()[i] == decltype(zero){}; });
}

// Mostly zeros; else any bits, of floats often only the sign. `one_in` 1: hardly any zeros.
void Fill(TestArray& x, std::uint64_t one_in, std::mt19937_64& random) {
  const DType dtype = x.signature().dtype;
  const bool has_sign = IsFloating(dtype) || IsComplex(dtype);
  const std::size_t word = SizeOf(RealPart(dtype)), words = x.bytes() / word;
  unsigned char* const bytes = static_cast<unsigned char*>(x.data());
  if (words != 0) std::memset(bytes, 0, x.bytes());
  for (std::size_t i = 0; i < words; ++i) {
    if (has_sign && random() % 3 == 0) bytes[i * word + word - 1] = 0x80;
    if (random() % one_in != 0) continue;
    const std::uint64_t bits = dtype == DType::kBool ? 1 : random();
    std::memcpy(bytes + i * word, &bits, word);
    // One bit alone, anywhere.
    if (dtype != DType::kBool && random() % 2 == 0) {
      std::memset(bytes + i * word, 0, word);
      bytes[i * word + random() % word] = static_cast<unsigned char>(1u << random() % 8);
    }
  }
}

}  // namespace flatnonzero_verifier

std::vector<Case> FlatnonzeroCases() {
  using namespace flatnonzero_verifier;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, DType dtype, const Shape& shape, std::uint64_t one_in) {
    cases.push_back(
        {.name = std::string(Name(dtype)) + "_" + name, .params = {}, .inputs = [=](std::mt19937_64& random) {
           TestArray x({dtype, shape});
           Fill(x, one_in, random);
           return std::map<std::string, TestArray>{{"x", std::move(x)}};
         }});
  };
  for (const DType dtype : AllTypes()) {
    add("scalar", dtype, {}, 1);
    add("n33", dtype, {33}, 2);
    add("none", dtype, {300}, 1'000'000'007);
    add("r3", dtype, {7, 11, 130}, 3);
  }
  add("n4097", DType::kBool, {4097}, 1);
  add("n131073", DType::kBool, {131'073}, 2);
  add("sparse", DType::kFloat32, {300, 701}, 5000);
  add("long", DType::kInt64, {400'001}, 3);
  return cases;
}

Verdict VerifyFlatnonzero(const Executed& executed) {
  using namespace flatnonzero_verifier;
  const TestArray& x = executed.Input("x");
  const auto positions = executed.Output("positions").Elements<std::int64_t>();
  Verdict verdict;
  std::size_t found = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (IsZero(x, i)) continue;
    const bool right = found < positions.size() && positions[found] == static_cast<std::int64_t>(i);
    verdict.Add(right ? 0 : 2, [&] { return "position " + std::to_string(found) + " is not " + std::to_string(i); });
    ++found;
  }
  verdict.Add(found == positions.size() ? 0 : 2, [&] {
    return "there are " + std::to_string(positions.size()) + " positions instead of " + std::to_string(found);
  });
  return verdict;
}

}  // namespace hotplate::conformance
