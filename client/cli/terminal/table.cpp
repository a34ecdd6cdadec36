#include "client/cli/terminal/table.h"

#include <algorithm>
#include <numeric>

#include "client/cli/terminal/console.h"

namespace hotplate::cli {

Table& Table::AlignRight(std::size_t column) {
  right_.push_back(column);
  return *this;
}

Table& Table::MayBeCut(std::size_t column, int least) {
  may_be_cut_.emplace_back(column, least);
  return *this;
}

Table& Table::Indent(int columns) {
  indent_ = columns;
  return *this;
}

namespace {

constexpr int kGap = 2;

// The widest of `columns` first, down to one another's width, and to no less than `least`.
void Narrow(std::vector<int>& widths, const std::vector<std::size_t>& columns, int least, int room) {
  int sum = 0;
  for (const int width : widths) sum += width;
  for (; sum > room && !columns.empty(); --sum) {
    const std::size_t widest = *std::max_element(columns.begin(), columns.end(),
                                                 [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
    if (widths[widest] <= least) return;
    --widths[widest];
  }
}

}  // namespace

std::string Table::Text(int width) const {
  std::vector<std::vector<std::string>> lines;
  if (!heads_.empty()) lines.push_back(heads_);
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<int> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(line[i]));
  }
  if (width > 0) {
    const int room = width - indent_ - kGap * (static_cast<int>(widths.size()) - 1);
    std::vector<std::size_t> all(widths.size());
    std::iota(all.begin(), all.end(), 0);
    if (may_be_cut_.empty()) Narrow(widths, all, kNarrowest, room);
    for (const auto& [column, least] : may_be_cut_) Narrow(widths, {column}, least, room);
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row(static_cast<std::size_t>(indent_), ' ');
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string cell = Shortened(line[i], widths[i]);
      const std::string gap(static_cast<std::size_t>(widths[i] - DisplayWidth(cell)), ' ');
      const bool right = std::find(right_.begin(), right_.end(), i) != right_.end();
      if (i > 0) row += std::string(kGap, ' ');
      row += right ? gap + cell : cell + gap;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += (width > 0 ? Shortened(row, width) : row) + "\n";
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
