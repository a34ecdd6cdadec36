// Shape rules that the specs of linear algebra share.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "kernels/families/matrix_stack.h"
#include "kernels/spec/spec.h"

namespace hotplate {

// Libraries count rows and columns in 32 bits.
inline constexpr std::int64_t kLongestLibrarySide = std::numeric_limits<std::int32_t>::max();

// The matrices in input a, whose shape is checked.
MatrixStack StackIn(const BoundCall& call);

// INVALID_ARGUMENT unless the input is [..., m, n].
absl::Status CheckMatrices(const BoundCall& call, const std::string& input);

// INVALID_ARGUMENT unless the input is [..., n, n] with n at most `longest`.
absl::Status CheckSquare(const BoundCall& call, const std::string& input, std::int64_t longest);

}  // namespace hotplate
