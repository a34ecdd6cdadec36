// The two small languages of a spec's arguments: symbolic shapes ("..., m, k", "at most n, k") and dtypes ("T",
// "float(T)", "int32").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/array/dtype.h"

namespace hotplate {

struct Dimension {
  enum class Kind { kSymbol, kNumber, kRest };  // k, 3, "..." or "broadcast ..."

  Kind kind = Kind::kSymbol;
  std::string symbol;
  std::int64_t number = 0;
};

struct ShapeRule {
  std::vector<Dimension> dimensions;
  // Where "..." is among them, if it is: the same sizes in all arguments.
  std::optional<std::size_t> rest;
  // Of an output: the data decide how many of the first dimension there are, the rule says how many at most.
  bool at_most = false;
  // It is "broadcast ...": sizes that NumPy's broadcasting brings to those of the output's "...".
  bool broadcasts = false;
};

// Nothing for a text that is no rule.
std::optional<ShapeRule> ParseShapeRule(std::string_view text);

// "[..., m, k]"
std::string ToString(const ShapeRule& rule);

struct TypeRule {
  std::optional<DType> fixed;
  std::string variable;   // where there is no fixed one; of an output also a choice parameter that names the dtype
  bool to_float = false;  // the variable's dtype where that is a float, else float64
};

// What an argument's two texts say.
struct ArgumentRules {
  TypeRule type;
  ShapeRule shape;
};

// A dtype's name, "float(NAME)", or NAME; nothing for another text.
std::optional<TypeRule> ParseTypeRule(std::string_view text);

// Lower-case letters, digits and underscores, a letter first: the names of kernels, parameters and arrays.
bool IsLowerSnake(std::string_view name);

// A letter first, then letters, digits and underscores.
bool IsIdentifier(std::string_view name);

}  // namespace hotplate
