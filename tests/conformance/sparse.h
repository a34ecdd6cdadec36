// Sparse matrices for cases of the kernels that take them, and how such matrices are spoilt.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/conformance/bad_data.h"
#include "tests/conformance/case.h"

namespace hotplate::conformance {

// Columns of each row's entries, ascending.
using Pattern = std::vector<std::vector<std::int64_t>>;

// `degrees`: how many entries each row has; columns are drawn, and may be there twice.
Pattern DrawnPattern(const std::vector<std::size_t>& degrees, std::int64_t columns, std::mt19937_64& random);

// "indices" and "indptr", of `dtype`.
std::map<std::string, TestArray> PatternArrays(const Pattern& pattern, DType dtype);

// What of a good matrix is changed, and in which words it is refused.
std::vector<BadData> BadSparseCases();

}  // namespace hotplate::conformance
