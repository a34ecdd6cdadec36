// The files of --each-file and --each-line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::cli {

struct CsvRow {
  std::size_t line = 0;  // in the file, from 1
  std::vector<std::string> cells;
};
struct CsvTable {
  std::vector<std::string> heads;
  std::vector<CsvRow> rows;  // each with a cell for each head
};

// Cells are separated by commas; one in double quotes may have commas and, doubled, quotes in it. Blanks around a cell
// do not count, and neither do empty lines. INVALID_ARGUMENT, with the line: no rows, or one with too few or too many
// cells.
absl::StatusOr<CsvTable> ReadCsv(const std::string& path);
// Without those that are empty. INVALID_ARGUMENT if there are none.
absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path);

}  // namespace hotplate::cli
