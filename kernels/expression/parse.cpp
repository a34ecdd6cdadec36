// A recursive-descent parser with Python's precedences.
#include "kernels/expression/parse.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/expression/lexer.h"
#include "kernels/expression/program.h"
#include "kernels/expression/signs.h"

namespace hotplate::expression {
namespace {

using Kind = SyntaxNode::Kind;

// Functions that parse return the number of a node, or kFailed when there is an error.
constexpr int kFailed = -1;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) {
    // Enough for most texts.
    syntax_.nodes.reserve(16);
    syntax_.child_lists.reserve(16);
  }

  std::variant<Syntax, Error> Run() {
    if (text_.size() > kMaxTextBytes) {
      Fail(Error::Kind::kLimit, 0, 1,
           "the text has " + std::to_string(text_.size()) + " bytes; at most " + std::to_string(kMaxTextBytes) +
               " are possible");
      return *error_;
    }
    Advance();
    while (!error_ && token_.kind != Token::Kind::kEnd) {
      if (token_.kind == Token::Kind::kStatementEnd) {
        Advance();
      } else {
        ParseStatement();
      }
    }
    if (!error_ && syntax_.statements.empty()) Fail(Error::Kind::kSyntax, 0, 1, "the text is empty");
    if (error_) return *error_;
    return std::move(syntax_);
  }

 private:
  // Counts the levels that the text nests, for as long as it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

    bool TooDeep() const {
      if (parser_.depth_ <= kMaxDepth) return false;
      parser_.FailAt(Error::Kind::kLimit, parser_.token_,
                     "brackets and signs nest deeper than " + std::to_string(kMaxDepth) + " levels");
      return true;
    }

   private:
    Parser& parser_;
  };

  int Fail(Error::Kind kind, std::size_t offset, std::size_t length, std::string message) {
    if (!error_) error_ = Error{.kind = kind, .message = std::move(message), .offset = offset, .length = length};
    return kFailed;
  }
  int FailAt(Error::Kind kind, const Token& token, std::string message) {
    return Fail(kind, token.offset, std::max<std::size_t>(token.text.size(), 1), std::move(message));
  }

  void Advance() {
    token_ = lexer_.Next();
    binary_ = FindBinary(token_);
    if (token_.kind == Token::Kind::kWrong && !error_) error_ = lexer_.error();
  }

  Token Ahead() const { return Lexer(lexer_).Next(); }

  bool Take(std::string_view sign) {
    if (!token_.Is(sign)) return false;
    end_ = token_.offset + token_.text.size();
    Advance();
    return true;
  }

  // Something else stands where `expected` should.
  int Unexpected(const std::string& expected) {
    if (error_) return kFailed;
    std::string found = token_.kind == Token::Kind::kEnd            ? "the text ends"
                        : token_.kind == Token::Kind::kStatementEnd ? "the statement ends"
                                                                    : "\"" + Cut(token_.text) + "\" stands";
    std::string message = found + " where " + expected + " is expected";
    if (token_.Is("@")) message = "there is no matrix product in an expression; the kernel matmul computes it";
    if (token_.Is("!")) message = "\"!\" has no meaning in an expression; \"~\" or \"not\" negates";
    if (token_.Is("if") || token_.Is("else")) message = "there is no if in an expression; write where(condition, x, y)";
    return FailAt(Error::Kind::kSyntax, token_, std::move(message));
  }

  static std::string Cut(std::string_view word) {
    constexpr std::size_t kLongest = 40;
    return std::string(word.substr(0, kLongest)) + (word.size() > kLongest ? "..." : "");
  }

  // Adds a node that begins at `begin` and ends with the last word that was taken.
  int Add(SyntaxNode node, std::size_t begin, std::span<const int> children = {}) {
    if (error_) return kFailed;
    if (syntax_.nodes.size() >= kMaxNodes) {
      return Fail(Error::Kind::kLimit, node.offset, node.length,
                  "the text has more than " + std::to_string(kMaxNodes) + " names, numbers and operations");
    }
    node.begin = begin;
    node.end = end_;
    node.first_child = static_cast<int>(syntax_.child_lists.size());
    node.children = static_cast<int>(children.size());
    syntax_.child_lists.insert(syntax_.child_lists.end(), children.begin(), children.end());
    syntax_.nodes.push_back(node);
    return static_cast<int>(syntax_.nodes.size()) - 1;
  }
  int Add(SyntaxNode node, std::size_t begin, std::initializer_list<int> children) {
    return Add(node, begin, std::span(children.begin(), children.size()));
  }
  static SyntaxNode At(const Token& token, Kind kind) {
    return {.kind = kind, .text = token.text, .offset = token.offset, .length = token.text.size()};
  }
  int AddLeaf(SyntaxNode leaf) {
    end_ = token_.offset + token_.text.size();
    Advance();
    return Add(leaf, leaf.offset);
  }
  std::size_t BeginOf(int node) const { return syntax_.nodes[static_cast<std::size_t>(node)].begin; }

  void ParseStatement() {
    Statement statement{.name = {}, .offset = token_.offset};
    const Token first = token_;
    if (first.kind == Token::Kind::kName && Ahead().Is("=")) {
      if (IsKeyword(first.text)) {
        FailAt(Error::Kind::kSyntax, first, "\"" + std::string(first.text) + "\" is no name for a result");
        return;
      }
      statement.name = first.text;
      Advance();
      Take("=");
    }
    statement.root = ParseExpression();
    if (error_) return;
    if (token_.kind != Token::Kind::kEnd && token_.kind != Token::Kind::kStatementEnd) {
      if (token_.Is("=")) {
        FailAt(Error::Kind::kSyntax, token_, "only a name may stand before \"=\"; \"==\" compares");
      } else if (token_.Is(")") || token_.Is("]")) {
        FailAt(Error::Kind::kSyntax, token_, "\"" + std::string(token_.text) + "\" was never opened");
      } else if (token_.Is(",")) {
        FailAt(Error::Kind::kSyntax, token_, "a statement is one expression; \";\" separates statements");
      } else {
        Unexpected("an operator");
      }
      return;
    }
    syntax_.statements.push_back(statement);
  }

  int ParseExpression() {
    const Level level(*this);
    if (level.TooDeep()) return kFailed;
    return ParseBinary(0);
  }

  int ParseBinary(int precedence) {
    const std::size_t begin = token_.offset;
    int left = kFailed;
    if (token_.Is("not") && precedence <= kNot) {
      const Level level(*this);
      if (level.TooDeep()) return kFailed;
      SyntaxNode node = At(token_, Kind::kUnary);
      node.op = Operator::kInvert;
      Take("not");
      const int operand = ParseBinary(kNot);
      left = Add(node, begin, {operand});
    } else {
      left = ParseUnary();
    }
    bool compared = false;
    while (!error_) {
      const BinarySign* const sign = binary_;
      if (sign == nullptr || sign->precedence < precedence) break;
      if (sign->precedence == kComparison && std::exchange(compared, true)) {
        return FailAt(Error::Kind::kSyntax, token_, "comparisons do not chain; write (a < b) & (b < c)");
      }
      SyntaxNode node = At(token_, Kind::kBinary);
      node.op = sign->op;
      Advance();
      const int right = ParseBinary(sign->precedence + 1);
      left = Add(node, begin, {left, right});
    }
    return left;
  }

  int ParseUnary() {
    const std::optional<Operator> op = FindUnary(token_);
    if (!op) return ParsePower();
    const Level level(*this);
    if (level.TooDeep()) return kFailed;
    SyntaxNode node = At(token_, Kind::kUnary);
    node.op = *op;
    Advance();
    const int operand = ParseUnary();
    return Add(node, node.offset, {operand});
  }

  int ParsePower() {
    const std::size_t begin = token_.offset;
    const int base = ParsePostfix();
    if (error_ || !token_.Is("**")) return base;
    const Level level(*this);
    if (level.TooDeep()) return kFailed;
    SyntaxNode node = At(token_, Kind::kBinary);
    node.op = Operator::kPower;
    Advance();
    const int exponent = ParseUnary();
    return Add(node, begin, {base, exponent});
  }

  int ParsePostfix() {
    const std::size_t begin = token_.offset;
    int operand = ParseAtom();
    while (!error_) {
      if (token_.Is("[")) {
        operand = ParseSubscript(operand, begin);
      } else if (token_.Is(".")) {
        operand = ParseAttribute(operand, begin);
      } else if (token_.Is("(")) {
        return FailAt(Error::Kind::kSyntax, token_, "only a function's name may stand before \"(\"; \"*\" multiplies");
      } else {
        break;
      }
    }
    return operand;
  }

  int ParseAtom() {
    switch (token_.kind) {
      case Token::Kind::kInteger: {
        SyntaxNode leaf = At(token_, Kind::kInteger);
        leaf.integer = token_.integer;
        return AddLeaf(leaf);
      }
      case Token::Kind::kFloat:
      case Token::Kind::kImaginary: {
        SyntaxNode leaf = At(token_, token_.kind == Token::Kind::kFloat ? Kind::kFloat : Kind::kImaginary);
        leaf.number = token_.number;
        return AddLeaf(leaf);
      }
      case Token::Kind::kName:
        return ParseName();
      case Token::Kind::kSign:
        if (token_.Is("...")) return AddLeaf(At(token_, Kind::kEllipsis));
        if (token_.Is("(")) return ParseBrackets();
        [[fallthrough]];
      default:
        return Unexpected("a value");
    }
  }

  int ParseName() {
    if (token_.Is("True") || token_.Is("False")) {
      SyntaxNode leaf = At(token_, Kind::kBool);
      leaf.integer = token_.Is("True") ? 1 : 0;
      return AddLeaf(leaf);
    }
    if (token_.Is("None")) return AddLeaf(At(token_, Kind::kNone));
    if (token_.Is("not")) {
      return FailAt(Error::Kind::kSyntax, token_, "\"not\" has to stand in parentheses here, as (not x)");
    }
    if (IsKeyword(token_.text)) return Unexpected("a value");
    const Token name = token_;
    end_ = name.offset + name.text.size();
    Advance();
    return token_.Is("(") ? ParseCall(name) : Add(At(name, Kind::kName), name.offset);
  }

  // "(" has to be closed by ")", and "[" by "]".
  bool Close(const Token& open) {
    if (Take(open.text == "(" ? ")" : "]")) return true;
    if (token_.kind == Token::Kind::kEnd) {
      FailAt(Error::Kind::kSyntax, open, "\"" + std::string(open.text) + "\" is never closed");
    } else {
      Unexpected(open.text == "(" ? "\")\"" : "\"]\"");
    }
    return false;
  }

  // A value in parentheses, or a tuple.
  int ParseBrackets() {
    const Token open = token_;
    Take("(");
    std::vector<int> items;
    bool is_tuple = token_.Is(")");
    while (!error_ && !token_.Is(")")) {
      if (token_.kind == Token::Kind::kEnd) break;
      items.push_back(ParseExpression());
      if (!Take(",")) break;
      is_tuple = true;
    }
    if (error_ || !Close(open)) return kFailed;
    if (is_tuple) return Add(At(open, Kind::kTuple), open.offset, items);
    SyntaxNode& inner = syntax_.nodes[static_cast<std::size_t>(items.front())];
    inner.begin = open.offset;
    inner.end = end_;
    return items.front();
  }

  int ParseCall(const Token& name) {
    const Token open = token_;
    Take("(");
    std::vector<int> arguments;
    bool named = false;
    while (!error_ && !token_.Is(")")) {
      if (token_.kind == Token::Kind::kEnd) break;
      if (token_.kind == Token::Kind::kName && !IsKeyword(token_.text) && Ahead().Is("=")) {
        named = true;
        SyntaxNode node = At(token_, Kind::kKeyword);
        Advance();
        Take("=");
        const int value = ParseExpression();
        arguments.push_back(Add(node, node.offset, {value}));
      } else if (named) {
        return FailAt(Error::Kind::kSyntax, token_, "an argument without a name stands after one with a name");
      } else {
        arguments.push_back(ParseExpression());
      }
      if (!Take(",")) break;
    }
    if (error_ || !Close(open)) return kFailed;
    return Add(At(name, Kind::kCall), name.offset, arguments);
  }

  int ParseSubscript(int operand, std::size_t begin) {
    const Token open = token_;
    Take("[");
    std::vector<int> children = {operand};
    while (!error_ && !token_.Is("]")) {
      if (token_.kind == Token::Kind::kEnd) break;
      children.push_back(ParseSubscriptItem());
      if (!Take(",")) break;
    }
    if (!error_ && children.size() == 1 && token_.Is("]")) return Unexpected("an index");
    if (error_ || !Close(open)) return kFailed;
    return Add(At(open, Kind::kSubscript), begin, children);
  }

  // An index, or up to three of them with ":" between; each may be left out.
  int ParseSubscriptItem() {
    const Token first = token_;
    std::array<int, 3> parts = {};
    std::size_t count = 0;
    bool is_slice = false;
    while (!error_) {
      const bool absent = token_.Is(":") || (is_slice && (token_.Is(",") || token_.Is("]")));
      parts[count++] = absent ? AddAbsent() : ParseExpression();
      if (count == parts.size() || !Take(":")) break;
      is_slice = true;
    }
    if (error_) return kFailed;
    if (!is_slice) return parts[0];
    while (count < parts.size()) parts[count++] = AddAbsent();
    return Add(At(first, Kind::kSlice), first.offset, parts);
  }

  int AddAbsent() {
    SyntaxNode node = At(token_, Kind::kNone);
    node.length = 1;
    return Add(node, node.offset);
  }

  int ParseAttribute(int operand, std::size_t begin) {
    Take(".");
    const Token name = token_;
    if (name.kind != Token::Kind::kName) return Unexpected("a name");
    if (name.text != "T") return NoAttribute(operand, name);
    Take("T");
    return Add(At(name, Kind::kTranspose), begin, {operand});
  }

  // Tells users of NumPy's notation what to write instead.
  int NoAttribute(int operand, const Token& name) {
    const SyntaxNode& owner = syntax_.nodes[static_cast<std::size_t>(operand)];
    const std::string word = Cut(name.text);
    std::string message = "." + word + " has no meaning in an expression, ";
    if (owner.kind == Kind::kName && (owner.text == "np" || owner.text == "numpy")) {
      message += "write " + word + " alone";
    } else {
      message += "only .T has; functions are written as in " + word + "(x)";
    }
    return FailAt(Error::Kind::kSyntax, name, std::move(message));
  }

  std::string_view text_;
  Lexer lexer_;
  Token token_;                         // the next one
  const BinarySign* binary_ = nullptr;  // it, if it stands between two values
  std::size_t end_ = 0;                 // of the last word that belongs to a node
  int depth_ = 0;
  Syntax syntax_;
  std::optional<Error> error_;
};

}  // namespace

std::variant<Syntax, Error> Parse(std::string_view text) { return Parser(text).Run(); }

}  // namespace hotplate::expression
