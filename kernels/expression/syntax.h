// A text as a tree: what was written, before anyone asked what the names are. Standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/expression/operators.h"

namespace hotplate::expression {

struct SyntaxNode {
  enum class Kind : std::uint8_t {
    kInteger,    // `integer`; True and False are kBool
    kFloat,      // `number`
    kImaginary,  // `number` times j
    kBool,       // `integer`
    kNone,
    kEllipsis,
    kName,       // `text`
    kUnary,      // op of the child
    kBinary,     // op of both children
    kCall,       // the function `text` of the children
    kKeyword,    // an argument `text` = the child
    kTuple,      // of the children
    kSubscript,  // the first child at the others
    kSlice,      // begin, end and step; kNone where nothing was written
    kTranspose,  // the child's .T
  };

  Kind kind = Kind::kNone;
  Operator op = Operator::kAdd;
  // In child_lists.
  int first_child = 0, children = 0;
  std::string_view text;
  std::uint64_t integer = 0;
  double number = 0;
  // Where an error about this node has its caret: an operator's sign, a function's name.
  std::size_t offset = 0, length = 1;
  // All of its text.
  std::size_t begin = 0, end = 0;
};

struct Statement {
  std::string_view name;  // empty: it has none
  std::size_t offset = 0;
  int root = 0;
};

// Views of the text, which has to outlive it. Each node comes after its children, in the order in which Python would
// evaluate them: whoever wants to know about all of them needs no recursion.
struct Syntax {
  std::vector<SyntaxNode> nodes;
  std::vector<int> child_lists;
  std::vector<Statement> statements;

  std::span<const int> ChildrenOf(const SyntaxNode& node) const {
    return std::span(child_lists)
        .subspan(static_cast<std::size_t>(node.first_child), static_cast<std::size_t>(node.children));
  }
};

}  // namespace hotplate::expression
