#include "kernels/catalogue/qr/qr.h"

#include <algorithm>

#include "kernels/base/status.h"
#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::qr {
namespace {

// LAPACK counts its workspace in 32 bits: up to 64 elements for each of a side's.
constexpr std::int64_t kLongestSide = 16'777'216;

// First the factors, then the columns of q that belong to them, then the other columns of a complete q.
Cost CostOf(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  const double m = static_cast<double>(stack.rows), n = static_cast<double>(stack.columns), k = std::min(m, n);
  double flop = 2 * m * n * k - (m + n) * k * k + 2 * k * k * k / 3;
  flop += 2 * m * k * k - 2 * k * k * k / 3;
  if (call.Choice("mode") == "complete") flop += 4 * m * k * (m - k);
  return {.flop = static_cast<double>(stack.count) * flop,
          .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

absl::Status Shapes(BoundCall& call) {
  if (absl::Status matrices = CheckMatrices(call, "a"); !matrices.ok()) return matrices;
  const Signature& a = call.Input("a");
  const std::size_t rank = a.shape.size();
  const std::int64_t m = a.shape[rank - 2], n = a.shape[rank - 1], k = std::min(m, n);
  if (std::max(m, n) > kLongestSide) {
    return InvalidField("inputs.a", "qr: a is " + ToString(a.shape) + "; a side may have at most " +
                                        std::to_string(kLongestSide) +
                                        ", since LAPACK counts its workspace in 32 bits");
  }
  Signature q = a, r = a;
  q.shape[rank - 1] = r.shape[rank - 2] = call.Choice("mode") == "complete" ? m : k;
  call.outputs = {q, r};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("qr", "a = q r, q with orthonormal columns and r upper triangular")
      .Docs(
          "The same as numpy.linalg.qr, by Householder reflections. With --mode reduced, q is [m, k] and r is [k, n], "
          "with k = min(m, n); with complete they are [m, m] and [m, n]. Elements of r's diagonal may have either "
          "sign. Leading dimensions form a stack of matrices. NaN or infinity fails the job. A cancel takes effect "
          "between the matrices of a stack, not within one. Runs on the CPU only.")
      .CpuOnly()
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Param({.name = "mode",
              .type = ParamType::kChoice,
              .default_value = std::string("reduced"),
              .choices = {"reduced", "complete"},
              .docs = "reduced: k columns of q; complete: all m"})
      .Input("a", "T", "..., m, n", "the matrices")
      .Output("q", "T", "..., m, k", "orthonormal columns; complete: [..., m, m]")
      .Output("r", "T", "..., k, n", "upper triangular, with zeros below the diagonal; complete: [..., m, n]")
      .CostModel(
          "per matrix, with k = min(m, n): 2 * m * n * k - (m + n) * k^2 + 2 * m * k^2 FLOP, and 4 * m * k * (m - k) "
          "more with complete; every input and output moved once",
          CostOf)
      .Numerics(
          "in each column, |a - q r| at most 8 * (m + n) * u * (2-norm of a's column); max |q^T q - 1| at most 8 * (m "
          "+ n) * u, with u = 2^-24 in float32 and 2^-53 in float64; the same bits with any number of threads only "
          "with --deterministic")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run qr a.npy -o q=q.npy -o r=r.npy");
}

}  // namespace hotplate::qr
