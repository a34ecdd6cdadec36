#include "tests/conformance/sparse.h"

#include <algorithm>

#include "kernels/call/abi.h"

namespace hotplate::conformance {
namespace {

TestArray Whole(const std::vector<std::int64_t>& numbers, DType dtype) {
  TestArray array({.dtype = dtype, .shape = {static_cast<std::int64_t>(numbers.size())}});
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::transform(numbers.begin(), numbers.end(), array.Elements<T>().begin(),
                   [](std::int64_t number) { return static_cast<T>(number); });
  });
  return array;
}

struct Change {
  const char* name;
  const char* array;
  std::size_t at;
  std::int64_t value;
  std::string message;
};

constexpr std::int64_t kRows = 3000, kOfARow = 25;

// Row r has kOfARow entries, one in each 100 columns or so; long enough for several pieces of work.
Pattern Regular() {
  Pattern pattern(kRows);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < kOfARow; ++i) pattern[static_cast<std::size_t>(row)].push_back(i * 120 + row % 100);
  }
  return pattern;
}

std::vector<Change> Changes(const std::string& columns) {
  const std::string outside = "; it must be at least 0 and less than 3000, the number of " + columns;
  const std::string disorder = "; the indices of a row must be in ascending order, as SciPy's sort_indices() puts them";
  return {
      {"start", "indptr", 0, 1, "indptr[0] is 1; it must be 0, where the first row begins"},
      {"negative_start", "indptr", 0, -1, "indptr[0] is -1; it must be 0, where the first row begins"},
      {"decreasing", "indptr", 2000, 49'974, "indptr[2000] is 49974, after 49975; indptr must not decrease"},
      {"negative_indptr", "indptr", 7, -5, "indptr[7] is -5, after 150; indptr must not decrease"},
      {"far_indptr", "indptr", 5, 2'000'000'000, "indptr[6] is 150, after 2000000000; indptr must not decrease"},
      {"short_end", "indptr", 3000, 74'999,
       "indptr[3000], the last, is 74999; it must be 75000, the length of indices"},
      {"far_end", "indptr", 3000, 2'000'000'000,
       "indptr[3000], the last, is 2000000000; it must be 75000, the length of indices"},
      {"first_column", "indices", 0, -1, "indices[0], in row 0, is -1" + outside},
      {"column_after_the_last", "indices", 74'999, 3000, "indices[74999], in row 2999, is 3000" + outside},
      {"far_column", "indices", 40'003, 2'000'000'000, "indices[40003], in row 1600, is 2000000000" + outside},
      {"far_negative_column", "indices", 40'003, -2'000'000'000,
       "indices[40003], in row 1600, is -2000000000" + outside},
      {"unsorted", "indices", 40'013, 2999, "indices[40014], in row 1600, is 1680, after 2999" + disorder},
      {"unsorted_end_of_row", "indices", 40'024, 0, "indices[40024], in row 1600, is 0, after 2760" + disorder},
  };
}

BadData Spoilt(const char* kernel, DType index, const std::vector<Change>& changes, bool has_values) {
  Case one{
      .name = std::string(Name(index)) + "_" + changes[0].name, .params = {}, .inputs = [=](std::mt19937_64& random) {
        std::map<std::string, TestArray> inputs = PatternArrays(Regular(), index);
        for (const Change& change : changes) {
          WithType(index, [&](auto zero) {
            using T = decltype(zero);
            inputs.at(change.array).Elements<T>()[change.at] = static_cast<T>(change.value);
          });
        }
        if (has_values) {
          TestArray data({.dtype = DType::kFloat64, .shape = {kRows * kOfARow}}),
              x({.dtype = DType::kFloat64, .shape = {kRows}});
          FillUniform(data, -1, 1, random);
          FillUniform(x, -1, 1, random);
          inputs.emplace("data", std::move(data));
          inputs.emplace("x", std::move(x));
        }
        return inputs;
      }};
  return {kernel, std::move(one), HOTPLATE_INVALID, changes[0].message};
}

}  // namespace

Pattern DrawnPattern(const std::vector<std::size_t>& degrees, std::int64_t columns, std::mt19937_64& random) {
  Pattern pattern;
  for (const std::size_t degree : degrees) {
    std::vector<std::int64_t>& row = pattern.emplace_back();
    for (std::size_t i = 0; i < degree; ++i) {
      row.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(columns)));
    }
    std::sort(row.begin(), row.end());
  }
  return pattern;
}

std::map<std::string, TestArray> PatternArrays(const Pattern& pattern, DType dtype) {
  std::vector<std::int64_t> indices, indptr = {0};
  for (const std::vector<std::int64_t>& row : pattern) {
    indices.insert(indices.end(), row.begin(), row.end());
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  std::map<std::string, TestArray> arrays;
  arrays.emplace("indices", Whole(indices, dtype));
  arrays.emplace("indptr", Whole(indptr, dtype));
  return arrays;
}

std::vector<BadData> BadSparseCases() {
  std::vector<BadData> all;
  const std::vector<Change> changes = Changes("columns");
  const auto named = [&](const std::string& name) {
    return *std::find_if(changes.begin(), changes.end(), [&](const Change& change) { return change.name == name; });
  };
  for (const Change& change : changes) all.push_back(Spoilt("spmv", DType::kInt32, {change}, true));
  for (const char* name : {"decreasing", "far_end", "far_column", "unsorted"}) {
    all.push_back(Spoilt("spmv", DType::kInt64, {named(name)}, true));
  }
  // The first is named, and indptr before all.
  all.push_back(Spoilt("spmv", DType::kInt64, {named("decreasing"), named("first_column"), named("far_end")}, true));
  all.push_back(Spoilt("spmv", DType::kInt32, {named("unsorted"), named("column_after_the_last")}, true));
  const std::vector<Change> of_nodes = Changes("nodes");
  for (const char* name : {"far_end", "far_column", "unsorted"}) {
    all.push_back(Spoilt("pagerank", DType::kInt32,
                         {*std::find_if(of_nodes.begin(), of_nodes.end(),
                                        [&](const Change& change) { return change.name == std::string(name); })},
                         false));
  }
  const Case pair{.name = "two_that_change_places",
                  .params = {{"damping", 1.0}, {"max_iterations", std::int64_t{20}}},
                  .inputs = [](std::mt19937_64&) {
                    return PatternArrays({{1}, {0}, {0}}, DType::kInt64);
                  }};
  all.push_back(
      {"pagerank", pair, HOTPLATE_FAILED,
       "no convergence: iteration 20, the last, changed the ranks by 0.6667 in all; less than 3e-06 (tolerance "
       "* nodes) was asked for: allow more --max-iterations, or a larger --tolerance"});
  return all;
}

}  // namespace hotplate::conformance
