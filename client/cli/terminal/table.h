// A table of text: columns as wide as their widest cell, two spaces between, no lines. If the terminal is too narrow,
// the widest columns shrink, and cut cells end in "…".
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hotplate::cli {

class Table {
 public:
  enum class Align { kLeft, kRight };
  // A column that is cut to less tells nothing.
  static constexpr int kNarrowest = 4;

  Table() = default;
  // Column heads; a table without them starts with its first row.
  explicit Table(std::vector<std::string> heads) : heads_(std::move(heads)) {}

  Table& AlignRight(std::size_t column);
  // Only such columns give way where the terminal is narrow, the first that was named first, each down to `least`;
  // without any of them all do, the widest first. If that does not suffice, the ends of the lines are cut.
  Table& MayBeCut(std::size_t column, int least = kNarrowest);
  Table& Indent(int columns);
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // Lines that each end in a newline, without trailing spaces, of at most `width` columns; 0: as wide as it gets.
  std::string Text(int width = 0) const;
  // A table of GitHub's Markdown.
  std::string Markdown() const;

 private:
  std::vector<std::string> heads_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> right_;
  std::vector<std::pair<std::size_t, int>> may_be_cut_;  // columns, and their least widths
  int indent_ = 0;
};

}  // namespace hotplate::cli
