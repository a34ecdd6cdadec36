// The elements of an array that came back, whatever their dtype: read as doubles, summarised, printed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "kernels/array/shape.h"

namespace hotplate::cli {

// True for the dtypes that have an order: not complex ones.
bool IsReal(DType dtype);

// Element `index` as a double; 64-bit integers beyond 2^53 lose digits. Only for real dtypes.
double ElementAsDouble(DType dtype, std::span<const std::byte> elements, std::size_t index);

// Element `index` as text that reads back as the same value.
std::string ElementText(DType dtype, std::span<const std::byte> elements, std::size_t index);

struct Summary {
  double minimum = 0, maximum = 0, mean = 0;  // of the elements that are numbers
  std::size_t not_numbers = 0;                // NaN
  std::size_t numbers = 0;
};
// Nothing for complex dtypes and empty arrays.
std::optional<Summary> Summarise(const Signature& signature, std::span<const std::byte> elements);

// "float32 [1000]   min -1.7 · max 3.2 · mean 0.31   0.1 0.2 0.3 …"
std::string SummaryText(const Signature& signature, std::span<const std::byte> elements);

}  // namespace hotplate::cli
