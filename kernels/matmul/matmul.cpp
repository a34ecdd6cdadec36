#include "kernels/matmul/matmul.h"

#include <limits>
#include <string>

#include "kernels/spec.h"
#include "kernels/status.h"

namespace hotplate::matmul {
namespace {

// Libraries count rows and columns in 32 bits.
constexpr std::int64_t kLongestSide = std::numeric_limits<std::int32_t>::max();

struct Sides {
  std::int64_t rows, columns;
};

Sides After(const Shape& shape, bool transposed) {
  return transposed ? Sides{shape[1], shape[0]} : Sides{shape[0], shape[1]};
}

std::string Expected(const BoundCall& call) {
  return std::string("expected a ") + (call.Bool("transpose_a") ? "[k, m]" : "[m, k]") + " and b " +
         (call.Bool("transpose_b") ? "[n, k]" : "[k, n]");
}

absl::Status Shapes(BoundCall& call) {
  const Signature &a = call.Input("a"), &b = call.Input("b");
  std::vector<FieldViolation> violations;
  for (const auto& [name, array] : {std::pair<std::string, const Signature&>("a", a), {"b", b}}) {
    if (array.shape.size() != 2) {
      violations.push_back({"inputs." + name, "matmul: " + name + " is " + ToString(array.shape) +
                                                  ", which is not a matrix; " + Expected(call)});
      continue;
    }
    for (const std::int64_t side : array.shape) {
      if (side > kLongestSide) {
        violations.push_back({"inputs." + name, "matmul: " + name + " is " + ToString(array.shape) +
                                                    "; a side may have at most " + std::to_string(kLongestSide) +
                                                    " elements"});
      }
    }
  }
  if (call.precision != HOTPLATE_PRECISION_DEFAULT && a.dtype != DType::kFloat32) {
    violations.push_back({"precision", "matmul: a reduced precision is for float32 inputs; a is " +
                                           std::string(Name(a.dtype)) + ": leave --precision out"});
  }
  if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);

  const Sides left = After(a.shape, call.Bool("transpose_a")), right = After(b.shape, call.Bool("transpose_b"));
  if (left.columns != right.rows) {
    return InvalidField("inputs.b", "matmul: inner sizes differ: a is " + ToString(a.shape) + ", b is " +
                                        ToString(b.shape) + "; " + Expected(call));
  }
  const Signature c{.dtype = a.dtype, .shape = {left.rows, right.columns}};
  const std::optional<std::size_t> bytes = ByteSize(c);
  if (!bytes || *bytes > kMaxArrayBytes) {
    return InvalidField("inputs.b", "matmul: the product would be " + ToString(c) + ", more than the " +
                                        std::to_string(kMaxArrayBytes) + " bytes that an array may have");
  }
  call.outputs = {c};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  const Signature &a = call.Input("a"), &b = call.Input("b");
  const Sides left = After(a.shape, call.Bool("transpose_a")), right = After(b.shape, call.Bool("transpose_b"));
  const double m = static_cast<double>(left.rows), k = static_cast<double>(left.columns);
  const double n = static_cast<double>(right.columns);
  return {.flop = 2 * m * n * k, .bytes = (m * k + k * n + m * n) * static_cast<double>(SizeOf(a.dtype))};
}

// The products, and each array packed, cleared or mirrored once.
double WorkBound(const BoundCall& call) {
  const Cost cost = CostOf(call);
  return cost.flop + cost.bytes;
}

ParamSpec Transpose(const char* name, const char* docs) {
  return {.name = name,
          .type = ParamType::kBool,
          .default_value = false,
          .minimum = {},
          .maximum = {},
          .choices = {},
          .docs = docs};
}

}  // namespace

KernelSpec Spec() {
  return KernelSpecBuilder("matmul", "c = a b, the matrix product")
      .Docs(
          "Matrices only: a vector is given as [n, 1] or [1, n]. transpose_a and transpose_b take an input by its "
          "transpose without copying it; a times its own transpose is recognised when both are the same array. "
          "--precision tf32, bf16 or f16 lets a GPU multiply float32 inputs in that precision (sums stay float32); the "
          "CPU has full precision only and refuses it. Cannot be interrupted once it runs.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Param(Transpose("transpose_a", "use a's transpose: a is then [k, m]"))
      .Param(Transpose("transpose_b", "use b's transpose: b is then [n, k]"))
      .Input("a", "T", "m, k", "left factor")
      .Input("b", "T", "k, n", "right factor")
      .Output("c", "T", "m, n", "the product")
      .CostModel("2 * m * n * k FLOP, (m * k + k * n + m * n) * sizeof(T) bytes: bound by arithmetic", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|c - exact| at most (k + 2) * u * (|a| |b|), u = 2^-24 in float32 and 2^-53 in float64; "
          "with --precision u is 2^-11 (tf32, f16) or 2^-8 (bf16) for the products; deterministic on one device "
          "with the same number of threads")
      .TakesPrecision()
      .Shapes(Shapes)
      .Example("hotplate run matmul a.npy b.npy -o c.npy")
      .Build();
}

}  // namespace hotplate::matmul
