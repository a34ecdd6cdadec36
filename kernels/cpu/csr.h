// Looking at sparse matrices on the CPU, before anything is read that they point to.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_context.h"
#include "kernels/csr.h"

namespace hotplate::csr {

// By all threads.
Defect FirstDefectOfIndptr(const Matrix<std::int32_t>& matrix, CpuContext& context);
Defect FirstDefectOfIndptr(const Matrix<std::int64_t>& matrix, CpuContext& context);

// Whether every entry of a piece is a column, and those of each row are in order. indptr has been found good.
bool EntriesAreGood(const Matrix<std::int32_t>& matrix, Place begin, Place end);
bool EntriesAreGood(const Matrix<std::int64_t>& matrix, Place begin, Place end);

}  // namespace hotplate::csr
