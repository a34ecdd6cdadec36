// The words of a text: names, numbers and signs, one at a time. Standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/expression/check.h"

namespace hotplate::expression {

struct Token {
  enum class Kind : std::uint8_t {
    kEnd,           // of the text
    kStatementEnd,  // a line break or ";"
    kName,          // keywords too
    kInteger,       // `integer`
    kFloat,         // `number`
    kImaginary,     // `number` times j
    kSign,          // an operator or a bracket
    kWrong,         // the lexer's error() tells why
  };

  Kind kind = Kind::kEnd;
  std::size_t offset = 0;
  std::string_view text;
  std::uint64_t integer = 0;
  double number = 0;

  bool Is(std::string_view sign) const { return (kind == Kind::kSign || kind == Kind::kName) && text == sign; }
};

// Line breaks within brackets do not end a statement, and "#" begins a comment, as in Python. A copy of a lexer reads
// on from the same place, which is how one looks ahead.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token Next();
  const Error& error() const { return error_; }

 private:
  Token Of(Token::Kind kind, std::size_t length);
  Token Wrong(Error::Kind kind, std::string message, std::size_t length);
  void SkipBlanks();
  Token Number();
  Token WholeNumber(std::size_t length, int base);
  Token Sign();

  std::string_view text_;
  std::size_t at_ = 0;
  int brackets_ = 0;  // that are open
  Error error_;
};

// [A-Za-z_][A-Za-z0-9_]*, and none of Python's words for control and logic, of which only and, or, not, True, False and
// None have a meaning in an expression.
bool IsIdentifier(std::string_view text);
bool IsKeyword(std::string_view text);

}  // namespace hotplate::expression
