#include "kernels/families/csr_shapes.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/base/status.h"

namespace hotplate {

absl::Status CheckCsrShapes(const BoundCall& call) {
  const std::string kernel = call.spec->name() + ": ";
  const std::vector<ArgumentSpec>& inputs = call.spec->inputs();
  std::vector<FieldViolation> violations;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (call.inputs[i].shape.size() == 1) continue;
    violations.push_back({"inputs." + inputs[i].name, kernel + inputs[i].name + " is " +
                                                          ToString(call.inputs[i].shape) +
                                                          "; it must have one dimension, [" + inputs[i].shape + "]"});
  }
  if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);
  if (call.Input("indptr").shape[0] == 0) {
    return InvalidField("inputs.indptr",
                        kernel + "indptr is [0]; it must have one element more than the matrix has rows");
  }
  const std::int64_t entries = call.Input("indices").shape[0];
  if (inputs[0].name == "data" && call.Input("data").shape[0] != entries) {
    return InvalidField("inputs.indices", kernel + "lengths differ: data is " + ToString(call.Input("data").shape) +
                                              ", indices is " + ToString(call.Input("indices").shape) +
                                              "; each element needs the index of its column");
  }
  constexpr std::int64_t kMostOfInt32 = std::numeric_limits<std::int32_t>::max();
  if (call.Input("indptr").dtype == DType::kInt32 && entries > kMostOfInt32) {
    return InvalidField("inputs.indices", kernel + "indices is " + ToString(call.Input("indices")) +
                                              "; an int32 indptr can count at most " + std::to_string(kMostOfInt32) +
                                              " entries: give indptr and indices as int64");
  }
  return absl::OkStatus();
}

std::int64_t CsrRows(const BoundCall& call) { return call.Input("indptr").shape[0] - 1; }

}  // namespace hotplate
