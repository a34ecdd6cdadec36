#include "kernels/expression/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "kernels/array/quoted.h"

namespace hotplate::expression {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool BeginsName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool InName(char c) { return BeginsName(c) || IsDigit(c); }

// Python's, sorted, without the words that were names before Python 3.
constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
static_assert(std::ranges::is_sorted(kKeywords));

// Longer ones before their beginnings.
constexpr std::array<std::string_view, 32> kSigns = {"...", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "(", ")",
                                                     "[",   "]",  "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^", "~",
                                                     "<",   ">",  "=",  ",",  ":",  ".",  "@",  "!",  "{",  "}"};

// A stray character, made safe for a terminal.
std::string Shown(std::string_view character) {
  const auto code = static_cast<unsigned char>(character.front());
  if (code > ' ' && Visible(character, ' ') == character) return "\"" + std::string(character) + "\"";
  constexpr char kHex[] = "0123456789abcdef";
  return std::string("the byte 0x") + kHex[code >> 4] + kHex[code & 15];
}

// The bytes of the UTF-8 character at the front, or 1 where it is none that could be shown.
std::size_t CharacterLength(std::string_view text) {
  const auto code = static_cast<unsigned char>(text.front());
  const std::size_t length = code >= 0xf0 && code < 0xf5   ? 4
                             : code >= 0xe0 && code < 0xf0 ? 3
                             : code >= 0xc2 && code < 0xe0 ? 2
                                                           : 1;
  if (length > text.size() || (code == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0)) return 1;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 1;
  }
  return length;
}

}  // namespace

bool IsKeyword(std::string_view text) {
  // Most names are shorter.
  return text.size() > 1 && std::ranges::binary_search(kKeywords, text);
}

bool IsIdentifier(std::string_view text) {
  return !text.empty() && BeginsName(text.front()) && std::ranges::all_of(text, InName) && !IsKeyword(text);
}

Token Lexer::Of(Token::Kind kind, std::size_t length) {
  Token token{.kind = kind, .offset = at_, .text = text_.substr(at_, length)};
  at_ += length;
  return token;
}

Token Lexer::Wrong(Error::Kind kind, std::string message, std::size_t length) {
  error_ = {.kind = kind, .message = std::move(message), .offset = at_, .length = length};
  return Of(Token::Kind::kWrong, length);
}

void Lexer::SkipBlanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      // Kernels get the text as a C string, which a NUL would end.
      at_ = std::min(text_.find_first_of(std::string_view("\n\0", 2), at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || (c == '\n' && brackets_ > 0)) {
      ++at_;
    } else if (c == '\\' && text_.substr(at_ + 1).starts_with('\n')) {
      at_ += 2;
    } else {
      return;
    }
  }
}

Token Lexer::Next() {
  SkipBlanks();
  if (at_ == text_.size()) return Of(Token::Kind::kEnd, 0);
  const char c = text_[at_];
  if (c == '\n' || c == ';') return Of(Token::Kind::kStatementEnd, 1);
  if (BeginsName(c)) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && InName(text_[end])) ++end;
    return Of(Token::Kind::kName, end - at_);
  }
  if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) return Number();
  return Sign();
}

Token Lexer::Sign() {
  const std::string_view rest = text_.substr(at_);
  for (const std::string_view sign : kSigns) {
    if (rest.front() != sign.front() || !rest.starts_with(sign)) continue;
    if (sign == "(" || sign == "[") ++brackets_;
    if ((sign == ")" || sign == "]") && brackets_ > 0) --brackets_;
    return Of(Token::Kind::kSign, sign.size());
  }
  const std::size_t length = CharacterLength(rest);
  return Wrong(Error::Kind::kSyntax, Shown(rest.substr(0, length)) + " has no meaning in an expression", length);
}

// All letters, digits, points and exponents that stand together are one number, right or wrong.
Token Lexer::Number() {
  std::size_t end = at_;
  bool is_float = false;
  const bool is_decimal =
      !(text_[at_] == '0' && at_ + 1 < text_.size() && BeginsName(text_[at_ + 1]) && text_[at_ + 1] != 'e' &&
        text_[at_ + 1] != 'E' && text_[at_ + 1] != 'j' && text_[at_ + 1] != 'J' && text_[at_ + 1] != '_');
  while (end < text_.size()) {
    const char c = text_[end];
    if (is_decimal && (c == '.' || c == 'e' || c == 'E')) {
      is_float = true;
      const bool exponent = c != '.' && end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
      end += exponent ? 2 : 1;
    } else if (InName(c)) {
      ++end;
    } else {
      break;
    }
  }
  const std::size_t length = end - at_;
  if (!is_decimal) {
    const char base = static_cast<char>(text_[at_ + 1] | 0x20);
    return WholeNumber(length, base == 'x' ? 16 : base == 'o' ? 8 : base == 'b' ? 2 : 0);
  }
  const bool imaginary = text_[end - 1] == 'j' || text_[end - 1] == 'J';
  if (!is_float && !imaginary) return WholeNumber(length, 10);

  const std::string_view whole = text_.substr(at_, length);
  std::string digits;  // without the underscores that may stand between two digits
  for (std::size_t i = 0; i < length - (imaginary ? 1 : 0); ++i) {
    if (whole[i] != '_') {
      digits += whole[i];
    } else if (i + 1 == length || !IsDigit(whole[i - 1]) || !IsDigit(whole[i + 1])) {
      return Wrong(Error::Kind::kSyntax, std::string(whole.substr(0, 40)) + " is no number", length);
    }
  }
  double value = 0;
  const auto [stop, result] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result == std::errc::invalid_argument || stop != digits.data() + digits.size()) {
    return Wrong(Error::Kind::kSyntax, std::string(whole.substr(0, 40)) + " is no number", length);
  }
  if (result == std::errc::result_out_of_range) {
    return Wrong(Error::Kind::kLimit, std::string(whole.substr(0, 40)) + " is out of the range of float64", length);
  }
  Token token = Of(imaginary ? Token::Kind::kImaginary : Token::Kind::kFloat, length);
  token.number = value;
  return token;
}

Token Lexer::WholeNumber(std::size_t length, int base) {
  const std::string_view whole = text_.substr(at_, length);
  const std::size_t prefix = base == 10 ? 0 : 2;
  std::uint64_t value = 0;
  bool digit_before = prefix > 0, fits = true, right = base != 0 && length > prefix;
  for (const char c : whole.substr(std::min(prefix, length))) {
    const int digit = IsDigit(c) ? c - '0' : c == '_' ? -1 : (c | 0x20) - 'a' + 10;
    if (digit >= base || (digit < 0 && !digit_before)) right = false;
    digit_before = digit >= 0;
    if (digit < 0 || !right) continue;
    const auto factor = static_cast<std::uint64_t>(base), addend = static_cast<std::uint64_t>(digit);
    if (__builtin_mul_overflow(value, factor, &value) || __builtin_add_overflow(value, addend, &value)) fits = false;
  }
  // As in Python, 012 is neither 12 nor 10.
  if (base == 10 && whole.front() == '0' && whole.find_first_not_of("0_") != whole.npos) right = false;
  if (!right || !digit_before) {
    return Wrong(Error::Kind::kSyntax, std::string(whole.substr(0, 40)) + " is no number", length);
  }
  if (!fits) {
    return Wrong(Error::Kind::kLimit,
                 "the integer " + std::string(whole.substr(0, 40)) + (length > 40 ? "..." : "") +
                     " has more than 64 bits; write it as a float",
                 length);
  }
  Token token = Of(Token::Kind::kInteger, length);
  token.integer = value;
  return token;
}

}  // namespace hotplate::expression
