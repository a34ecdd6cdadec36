// Collects the nodes of a Program while its shape is not known yet. Standard library only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "kernels/expression/input_view.h"
#include "kernels/expression/program.h"

namespace hotplate::expression {

// Nodes are numbered in the order in which they are made. Those that no output needs cost nothing in the end, and equal
// ones become one.
class NodeBuilder {
 public:
  NodeBuilder() { nodes_.reserve(16); }

  int View(const InputView& view, DType dtype);
  int Scalar(int scalar, DType dtype);
  int Constant(const expression::Constant& constant, DType dtype);
  int Index(int axis);
  // The input's element at the nodes `indices`, int64 each.
  int Gather(int input, std::span<const int> indices, DType dtype);
  int Cast(int node, DType dtype);     // the node itself if it has the dtype
  int Bounded(int node, DType dtype);  // the same for an int64, of numbers alone, that dtype may not hold
  // Arguments are of one dtype, but for kWhere's condition. Operators that do nothing for that dtype are left out, and
  // those of bools that have another name among the operators of bits become those.
  int Operate(Operator op, std::initializer_list<int> arguments, DType result);

  bool IsScalar(int node) const { return At(node).kind == Node::Kind::kScalar; }
  int leaf(int node) const { return At(node).leaf; }

  // Fills the views, gathers and nodes of the program that has its space and outputs, and numbers the outputs' nodes
  // anew. False if there are more than kMaxNodes.
  bool Finish(Program& program, std::span<const Signature* const> inputs) const;

 private:
  // A Node without memory of its own; its arguments are in arguments_.
  struct Draft {
    Node::Kind kind = Node::Kind::kConstant;
    Operator op = Operator::kAdd;
    DType dtype = DType::kFloat64;
    int leaf = 0;
    int first_argument = 0, arguments = 0;
    expression::Constant constant = {};
  };

  const Draft& At(int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  std::span<const int> ArgumentsOf(const Draft& draft) const {
    return std::span(arguments_)
        .subspan(static_cast<std::size_t>(draft.first_argument), static_cast<std::size_t>(draft.arguments));
  }
  int Add(Draft draft, std::span<const int> arguments = {});

  std::vector<Draft> nodes_;
  std::vector<int> arguments_;
  std::vector<InputView> views_;
};

}  // namespace hotplate::expression
