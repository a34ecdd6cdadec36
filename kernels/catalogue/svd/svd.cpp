#include "kernels/catalogue/svd/svd.h"

#include <algorithm>

#include "kernels/base/status.h"
#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::svd {
namespace {

// LAPACK counts its workspace in 32 bits: some 4 * k^2 elements for the shorter side, 64 for each of the longer one.
constexpr std::uint64_t kLongestShortSide = 20'000, kLongestLongSide = 16'777'216;

Cost CostOf(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  const double m = static_cast<double>(std::max(stack.rows, stack.columns));
  const double n = static_cast<double>(std::min(stack.rows, stack.columns));
  const std::string& compute = call.Choice("compute");
  const double flop = compute == "values" ? 4 * m * n * n - 4 * n * n * n / 3
                      : compute == "thin" ? 14 * m * n * n + 8 * n * n * n
                                          : 4 * m * m * n + 22 * n * n * n;
  const double element = static_cast<double>(SizeOf(call.Input("a").dtype));
  return {.flop = static_cast<double>(stack.count) * flop,
          .bytes = static_cast<double>(stack.count) * m * n * element + static_cast<double>(call.OutputBytes())};
}

absl::Status Shapes(BoundCall& call) {
  if (absl::Status matrices = CheckMatrices(call, "a"); !matrices.ok()) return matrices;
  const Signature& a = call.Input("a");
  const MatrixStack stack = StackIn(call);
  const auto [shorter, longer] = std::minmax(stack.rows, stack.columns);
  if (shorter > kLongestShortSide || longer > kLongestLongSide) {
    return InvalidField("inputs.a", "svd: a is " + ToString(a.shape) + "; the shorter side may have at most " +
                                        std::to_string(kLongestShortSide) + ", the longer at most " +
                                        std::to_string(kLongestLongSide) +
                                        ", since LAPACK counts its workspace in 32 bits");
  }
  const std::string& compute = call.Choice("compute");
  const std::size_t rank = a.shape.size();
  const std::int64_t m = a.shape[rank - 2], n = a.shape[rank - 1], k = std::min(m, n);
  Signature u = a, s = a, vt = a;
  s.shape.pop_back();
  s.shape.back() = k;
  u.shape[rank - 1] = compute == "full" ? m : compute == "thin" ? k : 0;
  vt.shape[rank - 2] = compute == "full" ? n : compute == "thin" ? k : 0;
  call.outputs = {u, s, vt};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("svd", "a = u diag(s) vt, the singular value decomposition")
      .Docs(
          "The same as numpy.linalg.svd. s is in descending order and has k = min(m, n) elements. With --compute full, "
          "u is [m, m] and vt is [n, n]. With thin (full_matrices=False in NumPy) they are [m, k] and [k, n]; thin "
          "needs far less memory for tall matrices. With values (compute_uv=False) no vectors are computed: u is [m, "
          "0] and vt is [0, n]. Leading dimensions form a stack of matrices. A matrix much taller than wide is reduced "
          "to its QR factors first, a wide one likewise. The signs of vectors, and the basis chosen for equal singular "
          "values, depend on the back-end. NaN, infinity or an iteration that does not converge fails the job. A "
          "cancel takes effect between the matrices of a stack, not within one; on a GPU, only while they are being "
          "submitted, and those of up to 32 by 32 are submitted all at once.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Param({.name = "compute",
              .type = ParamType::kChoice,
              .default_value = std::string("full"),
              .choices = {"full", "thin", "values"},
              .docs = "full: all m and n vectors; thin: k on each side; values: singular values only"})
      .Input("a", "T", "..., m, n", "the matrices")
      .Output("u", "T", "..., m, m", "left singular vectors, in columns; thin: [..., m, k]")
      .Output("s", "T", "..., k", "singular values, descending")
      .Output("vt", "T", "..., n, n", "right singular vectors, in rows; thin: [..., k, n]")
      .CostModel(
          "per matrix, with m >= n: 14 * m * n^2 + 8 * n^3 FLOP (thin), 4 * m^2 * n + 22 * n^3 (full), 4 * m * n^2 - "
          "4/3 * n^3 (values); every input and output moved once",
          CostOf)
      .Numerics(
          "max |a - u diag(s) vt| and the error of a singular value at most 4 * (m + n) * u * s[0]; max |u^T u - 1| "
          "and max |vt vt^T - 1| at most 4 * (m + n) * u, with u = 2^-24 in float32 and 2^-53 in float64; "
          "deterministic on one GPU with the cuSOLVER of CUDA 12.2 or later; on the CPU only with --deterministic, "
          "since otherwise the bits depend on the number of threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run svd a.npy -o u=u.npy -o s=s.npy -o vt=vt.npy");
}

}  // namespace hotplate::svd
