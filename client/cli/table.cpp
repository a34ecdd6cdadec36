#include "client/cli/table.h"

#include <algorithm>

#include "client/cli/console.h"

namespace hotplate::cli {

Table& Table::AlignRight(std::size_t column) {
  right_.push_back(column);
  return *this;
}

Table& Table::Indent(int columns) {
  indent_ = columns;
  return *this;
}

std::string Table::Text() const {
  std::vector<std::vector<std::string>> lines;
  if (!heads_.empty()) lines.push_back(heads_);
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<int> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row(static_cast<std::size_t>(indent_), ' ');
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string gap(static_cast<std::size_t>(widths[i] - DisplayWidth(line[i])), ' ');
      const bool right = std::find(right_.begin(), right_.end(), i) != right_.end();
      if (i > 0) row += "  ";
      row += right ? gap + line[i] : line[i] + gap;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string Table::Markdown() const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string row = "|";
    for (const std::string& cell : cells) {
      row += ' ';
      for (const char c : cell) row += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
      row += " |";
    }
    return row + "\n";
  };
  std::string text = line(heads_) + "|";
  for (std::size_t i = 0; i < heads_.size(); ++i)
    text += std::find(right_.begin(), right_.end(), i) != right_.end() ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : rows_) text += line(row);
  return text;
}

}  // namespace hotplate::cli
