// The elements of a downloaded array of any dtype: read as doubles, summarised, printed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/array/shape.h"

namespace hotplate::cli {

// True for the dtypes that have an order: not complex ones.
bool IsReal(DType dtype);

// Element `index` as a double; 64-bit integers beyond 2^53 lose digits. Only for real dtypes.
double ElementAsDouble(DType dtype, std::span<const std::byte> elements, std::size_t index);

// Element `index` as text that reads back as the same value.
std::string ElementText(DType dtype, std::span<const std::byte> elements, std::size_t index);

// The same as JSON: a text where JSON has no number for it.
std::string ElementJson(DType dtype, std::span<const std::byte> elements, std::size_t index);
// All elements as lists in lists, one level for each dimension.
std::string ElementsJson(const Signature& signature, std::span<const std::byte> elements);

// Elements that a summary begins with.
inline constexpr std::size_t kShownElements = 6;

struct Summary {
  double minimum = 0, maximum = 0, mean = 0;  // of the elements that are numbers
  std::size_t not_numbers = 0;                // NaN
  std::size_t numbers = 0;
};

// Sums an array up as its bytes come.
class Summariser {
 public:
  // `kept`: how many of the first elements it keeps.
  explicit Summariser(Signature signature, std::size_t kept = kShownElements);

  // In order; a piece may end within an element.
  void Add(std::span<const std::byte> piece);

  // Nothing for complex dtypes and empty arrays.
  std::optional<Summary> Get() const;
  // "float32 [1000]   min -1.7 · max 3.2 · mean 0.31   0.1 0.2 0.3 …"
  std::string Text() const;
  // The first elements, as many as are kept.
  std::span<const std::byte> first() const { return first_; }

 private:
  void AddWhole(std::span<const std::byte> elements);

  Signature signature_;
  std::size_t kept_;
  std::size_t count_ = 0;  // elements
  double minimum_, maximum_, sum_ = 0;
  std::size_t numbers_ = 0;
  std::vector<std::byte> first_, begun_;  // begun_: the first part of an element
};

std::optional<Summary> Summarise(const Signature& signature, std::span<const std::byte> elements);
std::string SummaryText(const Signature& signature, std::span<const std::byte> elements);

}  // namespace hotplate::cli
