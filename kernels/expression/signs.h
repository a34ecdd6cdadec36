// The signs that stand before a value or between two, and how tight they bind. Standard library only.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "kernels/expression/lexer.h"
#include "kernels/expression/operators.h"

namespace hotplate::expression {

struct BinarySign {
  std::string_view sign;
  Operator op;
  int precedence;
};

// Python's precedences; a larger one binds tighter.
inline constexpr int kNot = 3, kComparison = 4;

// "**" is not here: it binds tighter than the sign before it, and from the right.
inline constexpr std::array<BinarySign, 19> kBinarySigns = {{{"or", Operator::kBitOr, 1},
                                                             {"and", Operator::kBitAnd, 2},
                                                             {"==", Operator::kEqual, kComparison},
                                                             {"!=", Operator::kNotEqual, kComparison},
                                                             {"<", Operator::kLess, kComparison},
                                                             {"<=", Operator::kLessEqual, kComparison},
                                                             {">", Operator::kGreater, kComparison},
                                                             {">=", Operator::kGreaterEqual, kComparison},
                                                             {"|", Operator::kBitOr, 5},
                                                             {"^", Operator::kBitXor, 6},
                                                             {"&", Operator::kBitAnd, 7},
                                                             {"<<", Operator::kLeftShift, 8},
                                                             {">>", Operator::kRightShift, 8},
                                                             {"+", Operator::kAdd, 9},
                                                             {"-", Operator::kSubtract, 9},
                                                             {"*", Operator::kMultiply, 10},
                                                             {"/", Operator::kDivide, 10},
                                                             {"//", Operator::kFloorDivide, 10},
                                                             {"%", Operator::kRemainder, 10}}};

inline const BinarySign* FindBinary(const Token& token) {
  if (token.kind != Token::Kind::kSign && token.kind != Token::Kind::kName) return nullptr;
  constexpr std::size_t kLongest = 3;
  if (token.text.size() > kLongest) return nullptr;
  for (const BinarySign& sign : kBinarySigns) {
    if (token.text == sign.sign) return &sign;
  }
  return nullptr;
}

inline std::optional<Operator> FindUnary(const Token& token) {
  if (token.Is("-")) return Operator::kNegative;
  if (token.Is("+")) return Operator::kPositive;
  if (token.Is("~")) return Operator::kInvert;
  return std::nullopt;
}

}  // namespace hotplate::expression
