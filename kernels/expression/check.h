// From a text to a Program: names are looked up, dtypes and shapes follow NumPy 2. Standard library only, so that a
// client can tell an error, a dtype and a shape without asking the daemon.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "kernels/array/shape.h"
#include "kernels/expression/program.h"

namespace hotplate::expression {

struct NamedInput {
  std::string name;
  Signature signature;
};

struct Error {
  // NumPy raises errors of these kinds for the same mistake.
  enum class Kind : std::uint8_t { kSyntax, kName, kType, kValue, kIndex, kLimit };
  Kind kind = Kind::kSyntax;
  std::string message;     // one sentence, without the text: "shapes do not broadcast: x is [3], y is [4]"
  std::size_t offset = 0;  // of the byte in the text that it is about
  std::size_t length = 1;
};

// The text's line that the error is about, and a caret under the place; long lines are cut.
std::string WithCaret(const Error& error, std::string_view text);

// Each input and scalar may be used or not; one that is not named by the text is an error, as is a name that is given
// twice or is no identifier. Scalars of the dtypes bool, int64 and float64.
std::variant<Program, Error> Check(std::string_view text, std::span<const NamedInput> inputs,
                                   std::span<const Scalar> scalars);

}  // namespace hotplate::expression
