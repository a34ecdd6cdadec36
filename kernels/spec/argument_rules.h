// The two small languages of a spec's arguments: symbolic shapes ("..., m, k", "at most n, k") and dtypes ("T",
// "float(T)", "complex(T)", "int32").
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
  // The place of "...", if there is one: it has the same sizes in all arguments.
  std::optional<std::size_t> rest;
  // For outputs: the rule's first dimension is an upper bound, and the data decide its size.
  bool at_most = false;
  // "broadcast ...": its sizes must broadcast, as in NumPy, to the output's "...".
  bool broadcasts = false;
};

// Nothing for a text that is not a rule.
std::optional<ShapeRule> ParseShapeRule(std::string_view text);

// "[..., m, k]"
std::string ToString(const ShapeRule& rule);

struct TypeRule {
  // From the variable's dtype to an output's. kFloat: the same if that is a float, else float64. kComplex: complex
  // numbers of its precision.
  enum class Change { kNone, kFloat, kComplex };

  std::optional<DType> fixed;
  std::string variable;  // if none is fixed; for outputs also a choice parameter that names the dtype
  Change change = Change::kNone;
};

// An argument's type and shape, parsed.
struct ArgumentRules {
  TypeRule type;
  ShapeRule shape;
};

// A dtype's name, "float(NAME)", "complex(NAME)", or NAME; nothing for another text.
std::optional<TypeRule> ParseTypeRule(std::string_view text);

// Lower-case letters, digits and underscores, a letter first: the names of kernels, parameters and arrays.
bool IsLowerSnake(std::string_view name);

// A letter first, then letters, digits and underscores.
bool IsIdentifier(std::string_view name);

}  // namespace hotplate
