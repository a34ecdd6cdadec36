#include "client/cli/sweeps/sweep_file.h"

#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "client/cli/sweeps/sweep_words.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestTextLine = 64 << 10;

// INVALID_ARGUMENT: a quote that is not closed, or text behind one that is.
absl::StatusOr<std::vector<std::string>> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  bool quoted = false, was_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cell += c;
      ++i;
    } else if (c == '"' && (quoted || absl::StripAsciiWhitespace(cell).empty())) {
      if (!quoted) cell.clear();
      quoted = !quoted;
      was_quoted = true;
    } else if (c == ',' && !quoted) {
      cells.push_back(was_quoted ? cell : std::string(absl::StripAsciiWhitespace(cell)));
      cell.clear();
      was_quoted = false;
    } else if (!was_quoted || quoted) {
      cell += c;
    } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError("there is text behind a closed quote: " + Quoted(line));
    }
  }
  if (quoted) return absl::InvalidArgumentError("a quote is not closed: " + Quoted(line));
  cells.push_back(was_quoted ? cell : std::string(absl::StripAsciiWhitespace(cell)));
  return cells;
}

// Calls `take` with each line that is not empty and its number, until that fails.
template <typename Take>
absl::Status EachLine(const std::string& path, const std::string& option, Take take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::InvalidArgumentError(option + " " + path + ": " + std::generic_category().message(errno));
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string where = option + " " + path + ", line " + std::to_string(number);
    if (line.size() > kLongestTextLine) {
      return absl::InvalidArgumentError(where + " has " + std::to_string(line.size()) + " bytes; at most " +
                                        std::to_string(kLongestTextLine) + " are possible");
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (absl::Status taken = take(std::move(line), number, where); !taken.ok()) return taken;
  }
  if (file.bad()) return absl::InvalidArgumentError(option + " " + path + ": it cannot be read");
  return absl::OkStatus();
}

absl::Status TooManyRows(const std::string& where) {
  return absl::InvalidArgumentError(where + ": a sweep has at most " + std::to_string(kMostTasks) + " tasks");
}

}  // namespace

absl::StatusOr<CsvTable> ReadCsv(const std::string& path) {
  CsvTable table;
  const absl::Status read = EachLine(
      path, "--each-file", [&](const std::string& line, std::size_t number, const std::string& where) -> absl::Status {
        auto cells = CellsOf(line);
        if (!cells.ok()) return absl::InvalidArgumentError(where + ": " + std::string(cells.status().message()));
        if (table.heads.empty()) {
          table.heads = *std::move(cells);
          return absl::OkStatus();
        }
        if (cells->size() != table.heads.size()) {
          return absl::InvalidArgumentError(where + " has " + std::to_string(cells->size()) +
                                            " cells, the first line " + std::to_string(table.heads.size()) + ": " +
                                            Quoted(line));
        }
        if (table.rows.size() == kMostTasks) return TooManyRows(where);
        table.rows.push_back({number, *std::move(cells)});
        return absl::OkStatus();
      });
  if (!read.ok()) return read;
  if (table.heads.empty()) {
    return absl::InvalidArgumentError("--each-file " + path +
                                      " is empty: its first line has the parameters' names, and "
                                      "each other one a task's values");
  }
  if (table.rows.empty()) {
    return absl::InvalidArgumentError("--each-file " + path + " has no rows below its names: the sweep has 0 tasks");
  }
  return table;
}

absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path) {
  std::vector<std::string> lines;
  const absl::Status read =
      EachLine(path, "--each-line", [&](std::string line, std::size_t, const std::string& where) -> absl::Status {
        if (lines.size() == kMostTasks) return TooManyRows(where);
        lines.push_back(std::move(line));
        return absl::OkStatus();
      });
  if (!read.ok()) return read;
  if (lines.empty()) return absl::InvalidArgumentError("--each-line " + path + " has no lines: the sweep has 0 tasks");
  return lines;
}

}  // namespace hotplate::cli
