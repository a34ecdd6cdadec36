#include "kernels/catalogue/matmul/matmul.h"

#include <algorithm>
#include <span>
#include <string>

#include "kernels/base/status.h"
#include "kernels/catalogue/matmul/products.h"
#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::matmul {
namespace {

Sides Left(const BoundCall& call) { return LeftSides(call.Input("a").shape, call.Bool("transpose_a")); }
Sides Right(const BoundCall& call) { return RightSides(call.Input("b").shape, call.Bool("transpose_b")); }

std::string Expected(const BoundCall& call) {
  return std::string("expected a [..., ") + (call.Bool("transpose_a") ? "k, m" : "m, k") + "] and b [..., " +
         (call.Bool("transpose_b") ? "n, k]" : "k, n]");
}

absl::Status Shapes(BoundCall& call) {
  const Signature &a = call.Input("a"), &b = call.Input("b");
  std::vector<FieldViolation> violations;
  for (const auto& [name, array] : {std::pair<std::string, const Signature&>("a", a), {"b", b}}) {
    if (array.shape.empty()) {
      violations.push_back(
          {"inputs." + name,
           "matmul: " + name + " is a scalar, []; it must be a matrix or a vector; " + Expected(call)});
    }
    for (const std::int64_t side : std::span(array.shape).last(std::min<std::size_t>(array.shape.size(), 2))) {
      if (side > kLongestLibrarySide) {
        violations.push_back({"inputs." + name, "matmul: " + name + " is " + ToString(array.shape) +
                                                    "; an axis may have at most " +
                                                    std::to_string(kLongestLibrarySide) + " elements"});
      }
    }
  }
  if (call.precision != HOTPLATE_PRECISION_DEFAULT && a.dtype != DType::kFloat32) {
    violations.push_back({"precision", "matmul: --precision needs float32 inputs; a is " + std::string(Name(a.dtype)) +
                                           "; leave --precision out"});
  }
  if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);

  const std::string both = "a is " + ToString(a.shape) + ", b is " + ToString(b.shape) + "; ";
  if (Left(call).columns != Right(call).rows) {
    return InvalidField("inputs.b", "matmul: inner sizes differ: " + both + Expected(call));
  }
  std::optional<Shape> shape = BroadcastShape(FactorBatch(a.shape), FactorBatch(b.shape));
  if (!shape) {
    return InvalidField("inputs.b", "matmul: batches do not broadcast: " + both +
                                        "sizes before the last two, aligned at the right, must be equal or 1");
  }
  if (a.shape.size() > 1) shape->push_back(Left(call).rows);
  if (b.shape.size() > 1) shape->push_back(Right(call).columns);
  const Signature c{.dtype = a.dtype, .shape = *std::move(shape)};
  const std::optional<std::size_t> bytes = ByteSize(c);
  if (!bytes || *bytes > kMaxArrayBytes) {
    return InvalidField("inputs.b", "matmul: the product would be " + ToString(c) + ", more than the " +
                                        std::to_string(kMaxArrayBytes) + " bytes that an array may have");
  }
  call.outputs = {c};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  const double elements = static_cast<double>(ElementCount(call.outputs.front().shape).value_or(0));
  // A complex product and sum are four real products and four sums.
  return {.flop = (IsComplex(call.outputs.front().dtype) ? 8 : 2) * elements * static_cast<double>(Left(call).columns),
          .bytes = static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

// The products, packing, clearing or mirroring each array once, and a library's overhead for each product.
double WorkBound(const BoundCall& call) {
  const Cost cost = CostOf(call);
  const double of_one = static_cast<double>(Left(call).rows) * static_cast<double>(Right(call).columns);
  const double elements = static_cast<double>(ElementCount(call.outputs.front().shape).value_or(0));
  return cost.flop + cost.bytes + 500 * elements / std::max(of_one, 1.0);
}

ParamSpec Transpose(const char* name, const char* docs) {
  return {.name = name, .type = ParamType::kBool, .default_value = false, .docs = docs};
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("matmul", "c = a b, the matrix product")
      .Docs(
          "Multiplies matrices and batches of them as numpy.matmul does. Dimensions before the last two follow NumPy "
          "broadcasting, so one b can serve a whole batch of a. A vector [k] is a row as a and a column as b; c then "
          "lacks that axis. transpose_a and transpose_b use the transpose of each matrix without copying it, and leave "
          "vectors as they are; nothing is conjugated. A matrix times its own transpose is recognised if a and b are "
          "the same array. NaN and infinities propagate as in NumPy: infinity times 0 is NaN. With --precision tf32, "
          "bf16 or f16 a GPU multiplies float32 inputs in that precision and sums in float32; the CPU refuses these. "
          "In f16, "
          "elements of magnitude 65520 or more become infinite, and those below 6e-5 keep fewer digits. A cancel takes "
          "effect between the products of a batch, not within one; on a GPU, only while they are being submitted.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128})
      .Param(Transpose("transpose_a", "use the transpose of a, which is then [..., k, m]"))
      .Param(Transpose("transpose_b", "use the transpose of b, which is then [..., n, k]"))
      .Input("a", "T", "broadcast ..., m, k", "left factor")
      .Input("b", "T", "broadcast ..., k, n", "right factor")
      .Output("c", "T", "..., m, n", "the product")
      .CostModel(
          "2 * m * n * k FLOP per product, 8 * m * n * k of complex numbers; both inputs and the output moved once: "
          "bound by arithmetic",
          CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|c - exact| at most (k + 2) * u * (|a| |b|), three times that of complex numbers, with u = 2^-24 in float32 "
          "and complex64, 2^-53 in float64 and complex128; with "
          "--precision tf32 at most (2^-9 + (k + 2) * 2^-22) * (|a| |b|). bf16 and f16 round a and b to the nearest "
          "number of that type; c is within (k + 2) * 2^-22 * (|a| |b|) of the exact product of those. Deterministic "
          "on one device; on the CPU only with --deterministic, since otherwise the bits depend on the number of "
          "threads")
      .SameBits(Determinism::kOnRequest)
      .TakesPrecision()
      .Shapes(Shapes)
      .Example("hotplate run matmul a.npy b.npy -o c.npy");
}

}  // namespace hotplate::matmul
