#include "kernels/batched_matvec/batched_matvec.h"

#include <string>

#include "kernels/spec.h"
#include "kernels/square_matrices.h"
#include "kernels/status.h"

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
    violations.push_back(wrong("a", a, std::string(", neither a matrix nor a batch of them; ") + kExpected));
  }
  if (x.shape.size() != 2) violations.push_back(wrong("x", x, std::string(", no batch of vectors; ") + kExpected));
  for (const auto& [name, array] : {std::pair<const char*, const Signature&>("a", a), {"x", x}}) {
    for (const std::int64_t side : array.shape) {
      if (side <= kLongestLibrarySide) continue;
      violations.push_back(wrong(name, array, "; a side may have at most " + std::to_string(kLongestLibrarySide)));
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
          "What jax.vmap makes of a matrix-vector product: x holds a vector in each row, and so does y. With a [m, k] "
          "the same matrix multiplies all of them; with a [b, m, k] each vector has its own. NaN and infinities spread "
          "as arithmetic has it. For one matrix and thousands of vectors matmul with --transpose-b (x times a's "
          "transpose) is the same product. Can be interrupted on the CPU with a matrix to each vector; with one matrix "
          "for all, and on a GPU, not once it runs.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "..., m, k", "the matrix [m, k], or one for each vector [b, m, k]")
      .Input("x", "T", "b, k", "the vectors")
      .Output("y", "T", "b, m", "the products")
      .CostModel("2 * b * m * k FLOP; a read once, b * (k + m) elements of x and y", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|y - exact| at most (k + 2) * u * (|a| |x|), u = 2^-24 in float32 and 2^-53 in float64; deterministic on "
          "one device, on the CPU only with --deterministic: else the bits depend on the number of threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run batched_matvec a.npy x.npy -o y.npy");
}

}  // namespace hotplate::batched_matvec
