#include "kernels/expression/cost.h"

#include <algorithm>

namespace hotplate::expression {
namespace {

constexpr double kPolynomial = 18;
// A number too small to be normal can take a processor a hundred cycles, and a complex function several libm calls.
constexpr double kSlowestFunction = 600, kSlowestOperation = 20;

bool IsPolynomial(Operator op) {
  return (op >= Operator::kExp && op <= Operator::kArctanh) || op == Operator::kPower || op == Operator::kArctan2 ||
         op == Operator::kHypot || op == Operator::kLogAddExp || op == Operator::kCbrt;
}

double CountOf(const Shape& shape) {
  double count = 1;
  for (const std::int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

}  // namespace

Work WorkOf(const Program& program) {
  const double places = CountOf(program.space);
  Work work;
  for (const View& view : program.views) {
    double reached = places;
    for (std::size_t axis = 0; axis < view.strides.size(); ++axis) {
      if (view.strides[axis] == 0 && program.space[axis] > 1) reached /= static_cast<double>(program.space[axis]);
    }
    const auto node = std::find_if(program.nodes.begin(), program.nodes.end(), [&](const Node& one) {
      return one.kind == Node::Kind::kView && &program.views[static_cast<std::size_t>(one.leaf)] == &view;
    });
    if (node != program.nodes.end()) work.bytes_read += reached * static_cast<double>(SizeOf(node->dtype));
  }
  double flop = 0, operations = 2;
  for (const Node& node : program.nodes) {
    const bool polynomial = node.kind == Node::Kind::kOperator && IsPolynomial(node.op);
    if (node.kind == Node::Kind::kOperator) flop += polynomial ? kPolynomial : 1;
    if (node.kind == Node::Kind::kGather) {
      work.bytes_read += std::min(places, CountOf(program.gathers[static_cast<std::size_t>(node.leaf)].shape)) *
                         static_cast<double>(SizeOf(node.dtype));
    }
    operations += polynomial ? kSlowestFunction : kSlowestOperation;
  }
  for (const Output& output : program.outputs) {
    if (output.reduction != Reduction::kNone) flop += 1, operations += kSlowestOperation;
  }
  work.flop = flop * places;
  work.operations = 100 + operations * std::max(places, 1.0);
  return work;
}

}  // namespace hotplate::expression
