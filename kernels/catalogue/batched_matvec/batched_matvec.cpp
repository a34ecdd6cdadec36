#include "kernels/catalogue/batched_matvec/batched_matvec.h"

#include <string>

#include "kernels/base/status.h"
#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::batched_matvec {
namespace {

constexpr char kExpected[] = "expected a [m, k] or [b, m, k], and x [b, k]";

absl::Status Shapes(BoundCall& call) {
  const Signature &a = call.Input("a"), &x = call.Input("x");
  const auto wrong = [](const char* name, const Signature& array, const std::string& what) {
    return FieldViolation{std::string("inputs.") + name,
                          std::string("batched_matvec: ") + name + " is " + ToString(array.shape) + what};
  };
  std::vector<FieldViolation> violations;
  if (a.shape.size() != 2 && a.shape.size() != 3) {
    violations.push_back(wrong("a", a, "; it must be a matrix, [m, k], or a batch of matrices, [b, m, k]"));
  }
  if (x.shape.size() != 2) violations.push_back(wrong("x", x, "; it must be a batch of vectors, [b, k]"));
  for (const auto& [name, array] : {std::pair<const char*, const Signature&>("a", a), {"x", x}}) {
    for (const std::int64_t side : array.shape) {
      if (side <= kLongestLibrarySide) continue;
      violations.push_back(
          wrong(name, array, "; an axis may have at most " + std::to_string(kLongestLibrarySide) + " elements"));
    }
  }
  if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);
  const std::size_t rank = a.shape.size();
  const std::int64_t m = a.shape[rank - 2], k = a.shape[rank - 1];
  if (k != x.shape[1] || (rank == 3 && a.shape[0] != x.shape[0])) {
    return InvalidField("inputs.x", std::string("batched_matvec: ") + (k != x.shape[1] ? "lengths" : "batches") +
                                        " differ: a is " + ToString(a.shape) + ", x is " + ToString(x.shape) + "; " +
                                        kExpected);
  }
  call.outputs = {{.dtype = a.dtype, .shape = {x.shape[0], m}}};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  const Signature &a = call.Input("a"), &x = call.Input("x");
  const double batch = static_cast<double>(x.shape[0]), k = static_cast<double>(x.shape[1]);
  const double m = static_cast<double>(call.outputs.front().shape[1]);
  const double elements = static_cast<double>(*ElementCount(a.shape)) + batch * (m + k);
  return {.flop = 2 * batch * m * k, .bytes = elements * static_cast<double>(SizeOf(a.dtype))};
}

// A number too small to be normal can take a processor a hundred cycles; sixteen of them are multiplied at a time.
double WorkBound(const BoundCall& call) {
  const Cost cost = CostOf(call);
  return 4 * cost.flop + cost.bytes;
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("batched_matvec", "y[i] = a x[i], a matrix times each vector of a batch")
      .Docs(
          "The same as jax.vmap of a matrix-vector product: each row of x is a vector, and the same row of y is its "
          "product. With a of shape [m, k], one matrix multiplies all vectors; with [b, m, k], each vector has its own "
          "matrix. NaN and infinities propagate as in arithmetic. For one matrix and thousands of vectors, matmul with "
          "--transpose-b (x times the transpose of a) computes the same product. A running job can be cancelled only "
          "on the CPU, and only if each vector has its own matrix.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "..., m, k", "the matrix [m, k], or one matrix per vector [b, m, k]")
      .Input("x", "T", "b, k", "the vectors, one per row")
      .Output("y", "T", "b, m", "the products, one per row")
      .CostModel("2 * b * m * k FLOP; reads a once, moves b * (k + m) elements of x and y", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|y - exact| at most (k + 2) * u * (|a| |x|), with u = 2^-24 in float32 and 2^-53 in float64; deterministic "
          "on one device; on the CPU only with --deterministic, since otherwise the bits depend on the number of "
          "threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run batched_matvec a.npy x.npy -o y.npy");
}

}  // namespace hotplate::batched_matvec
