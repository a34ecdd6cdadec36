// Shape rules that the specs of kernels on sparse matrices share.
#pragma once

#include "absl/status/status.h"
#include "kernels/spec/spec.h"

namespace hotplate {

// INVALID_ARGUMENT unless all inputs are one-dimensional, indptr has an element at least, and data, where the kernel
// takes it, is as long as indices.
absl::Status CheckCsrShapes(const BoundCall& call);

// The number of rows of a matrix with checked shapes.
std::int64_t CsrRows(const BoundCall& call);

}  // namespace hotplate
