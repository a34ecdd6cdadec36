#include "kernels/families/square_matrices.h"

#include "kernels/base/status.h"

namespace hotplate {

MatrixStack StackIn(const BoundCall& call) {
  const Shape& shape = call.Input("a").shape;
  return StackOf(shape.data(), shape.size());
}

absl::Status CheckMatrices(const BoundCall& call, const std::string& input) {
  const Shape& shape = call.Input(input).shape;
  if (shape.size() >= 2) return absl::OkStatus();
  return InvalidField("inputs." + input, call.spec->name() + ": " + input + " is " + ToString(shape) +
                                             "; it must be a matrix or a stack of matrices, [..., m, n]");
}

absl::Status CheckSquare(const BoundCall& call, const std::string& input, std::int64_t longest) {
  const Shape& shape = call.Input(input).shape;
  const std::string start = call.spec->name() + ": " + input + " is " + ToString(shape);
  if (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2]) {
    return InvalidField("inputs." + input,
                        start + "; it must be a square matrix or a stack of square matrices, [..., n, n]");
  }
  if (shape.back() > longest) {
    return InvalidField("inputs." + input, start + "; n may be at most " + std::to_string(longest) +
                                               ", since LAPACK counts its workspace in 32 bits");
  }
  return absl::OkStatus();
}

}  // namespace hotplate
