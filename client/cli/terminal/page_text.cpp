#include "client/cli/terminal/page_text.h"

#include <algorithm>
#include <vector>

#include "client/cli/catalogue/topics.h"
#include "client/cli/terminal/console.h"

namespace hotplate::cli {
namespace {

constexpr int kNarrowestPage = 40, kWidestPage = 100;  // longer lines are hard to read
constexpr std::size_t kMostColumns = 4;                // a table of more that does not fit is written row by row
constexpr char kMarkdownSpace[] = " \t";

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

std::string_view Stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kMarkdownSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kMarkdownSpace) - first + 1);
}

// A reference that a terminal's reader can follow, to be put behind a link's words.
std::string LinkTarget(std::string_view target) {
  if (target.find("://") != std::string_view::npos) return " <" + std::string(target) + ">";
  target = target.substr(0, target.find('#'));
  const std::size_t slash = target.rfind('/');
  if (slash != std::string_view::npos) target.remove_prefix(slash + 1);
  if (target.size() > 3 && target.substr(target.size() - 3) == ".md" && FindTopic(target.substr(0, target.size() - 3)))
    return " (hotplate help " + std::string(target.substr(0, target.size() - 3)) + ")";
  return "";
}

// Code spans are copied with their backticks. Links and bold words become what a terminal can show.
std::string Inline(std::string_view text, bool bold) {
  std::string shown;
  bool strong = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '`') {
      const std::size_t end = text.find('`', at + 1);
      const std::size_t length = end == std::string_view::npos ? 1 : end - at + 1;
      shown += text.substr(at, length);
      at += length;
    } else if (StartsWith(text.substr(at), "**")) {
      strong = !strong;
      if (bold) shown += strong ? "\x1b[1m" : "\x1b[0m";
      at += 2;
    } else if (text[at] == '[' || StartsWith(text.substr(at), "![")) {
      const bool image = text[at] == '!';
      const std::size_t middle = text.find("](", at);
      const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
      if (end == std::string_view::npos || text.substr(at + 1, middle - at - 1).find(']') != std::string_view::npos) {
        shown += text[at++];
        continue;
      }
      if (!image)
        shown +=
            Inline(text.substr(at + 1, middle - at - 1), bold) + LinkTarget(text.substr(middle + 2, end - middle - 2));
      at = end + 1;
    } else {
      shown += text[at++];
    }
  }
  return shown;
}

std::vector<std::string> Wrapped(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!lines.back().empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

// `text` in lines of `width`. The first line begins with `first`, and the others are aligned below its text.
std::string Paragraph(const std::string& text, const std::string& first, int width) {
  const std::vector<std::string> lines = Wrapped(text, width - DisplayWidth(first));
  std::string shown;
  for (const std::string& line : lines)
    shown += (shown.empty() ? first : std::string(static_cast<std::size_t>(DisplayWidth(first)), ' ')) + line + "\n";
  return shown;
}

// The cells of "| a | b |"; a bar in code or after a backslash is not a border.
std::vector<std::string> Cells(std::string_view row, bool bold) {
  std::vector<std::string> cells;
  std::string cell;
  bool code = false;
  row = Stripped(row);
  for (std::size_t at = 1; at < row.size(); ++at) {
    if (row[at] == '`') code = !code;
    if (row[at] == '\\' && at + 1 < row.size() && row[at + 1] == '|') {
      cell += row[++at];
    } else if (row[at] == '|' && !code) {
      cells.push_back(Inline(Stripped(cell), bold));
      cell.clear();
    } else {
      cell += row[at];
    }
  }
  return cells;
}

struct Column {
  int needed = 1;  // by its longest cell
  int least = 1;   // by its longest word
  int width = 0;   // not settled yet
};

std::vector<Column> ColumnsOf(const std::vector<std::vector<std::string>>& rows) {
  std::vector<Column> columns(rows[0].size());
  for (const std::vector<std::string>& row : rows)
    for (std::size_t i = 0; i < std::min(row.size(), columns.size()); ++i) {
      columns[i].needed = std::max(columns[i].needed, DisplayWidth(row[i]));
      for (const std::string& word : Wrapped(row[i], 1))
        columns[i].least = std::max(columns[i].least, DisplayWidth(word));
    }
  return columns;
}

// A column gets its full width if that is at most an equal share of `left`. The others share the rest, but none gets
// less than its longest word.
void Fit(std::vector<Column>& columns, int left) {
  int open = static_cast<int>(columns.size());
  for (bool settled = true; settled;) {
    settled = false;
    for (const bool words : {false, true}) {
      for (Column& column : columns) {
        const int share = open > 0 ? left / open : 0;
        if (column.width > 0 || (words ? column.least <= share : column.needed > share)) continue;
        column.width = words ? column.least : column.needed;
        left -= column.width;
        --open;
        settled = true;
      }
      if (settled) break;
    }
  }
  for (Column& column : columns)
    if (column.width == 0) column.width = left / open;
}

std::string RowByRow(const std::vector<std::vector<std::string>>& rows, int width, bool bold) {
  std::string shown;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    shown += Paragraph(rows[row].empty() ? "" : Paint(bold, Tone::kBold, rows[row][0]), "", width);
    for (std::size_t i = 1; i < std::min(rows[row].size(), rows[0].size()); ++i)
      if (!rows[row][i].empty()) shown += Paragraph(rows[0][i] + ": " + rows[row][i], "  ", width);
  }
  return shown;
}

std::string TableText(const std::vector<std::vector<std::string>>& rows, int width, bool bold) {
  std::vector<Column> columns = ColumnsOf(rows);
  const int left = width - 2 * (static_cast<int>(columns.size()) - 1);
  int needed = 0;
  for (const Column& column : columns) needed += column.needed;
  if (columns.size() > kMostColumns && needed > left) return RowByRow(rows, width, bold);
  Fit(columns, left);
  std::string shown;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      cells.push_back(Wrapped(i < rows[row].size() ? rows[row][i] : "", columns[i].width));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      int column = 0;  // where the next cell begins
      for (std::size_t i = 0; i < cells.size(); column += columns[i++].width + 2) {
        if (line >= cells[i].size() || cells[i][line].empty()) continue;
        text += std::string(static_cast<std::size_t>(std::max(column - DisplayWidth(text), column > 0 ? 1 : 0)), ' ') +
                Paint(bold && row == 0, Tone::kBold, cells[i][line]);
      }
      shown += text + "\n";
    }
  }
  return shown;
}

// The length of "- " or "12. " at the beginning; else 0.
std::size_t Bullet(std::string_view line) {
  if (StartsWith(line, "- ")) return 2;
  const std::size_t digits = line.find_first_not_of("0123456789");
  return digits != std::string_view::npos && digits > 0 && StartsWith(line.substr(digits), ". ") ? digits + 2 : 0;
}

class Page {
 public:
  Page(int width, bool bold) : width_(width), bold_(bold) {}

  void Line(std::string_view line) {
    const std::string_view words = Stripped(line);
    if (StartsWith(words, "```")) {
      End();
      code_ = !code_;
    } else if (code_) {
      text_ += line.empty() ? "\n" : "    " + std::string(line) + "\n";
    } else if (words.empty()) {
      End();
      Gap();
    } else if (StartsWith(words, "<!--")) {
      End();
    } else if (StartsWith(line, "#")) {
      End();
      Gap();
      text_ += Paint(bold_, Tone::kBold, Inline(Stripped(line.substr(line.find_first_not_of('#'))), false)) + "\n";
    } else if (words[0] == '|') {
      if (!paragraph_.empty()) End();
      if (words.find_first_not_of("|-: ") != std::string_view::npos) rows_.push_back(Cells(words, bold_));
    } else {
      if (!rows_.empty()) End();
      if (const std::size_t bullet = Bullet(words)) {
        End();
        first_ = std::string(words.substr(0, bullet));
        paragraph_ = words.substr(bullet);
      } else {
        paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(words);
      }
    }
  }

  std::string Text() {
    End();
    return text_;
  }

 private:
  void End() {
    if (!rows_.empty()) text_ += TableText(rows_, width_, bold_);
    if (!paragraph_.empty()) {
      const std::string shown = Inline(paragraph_, bold_);
      if (!Stripped(shown).empty()) text_ += Paragraph(shown, first_, width_);
    }
    rows_.clear();
    paragraph_.clear();
    first_.clear();
  }
  void Gap() {
    if (!text_.empty() && (text_.size() < 2 || text_.substr(text_.size() - 2) != "\n\n")) text_ += "\n";
  }

  const int width_;
  const bool bold_;
  std::string text_;
  // The block being collected: a paragraph or a list's item, or a table.
  std::string paragraph_, first_;
  std::vector<std::vector<std::string>> rows_;
  bool code_ = false;
};

}  // namespace

std::string PageText(std::string_view markdown, int width, bool bold) {
  Page page(std::clamp(width, kNarrowestPage, kWidestPage), bold);
  while (!markdown.empty()) {
    const std::size_t end = markdown.find('\n');
    page.Line(markdown.substr(0, end));
    markdown.remove_prefix(end == std::string_view::npos ? markdown.size() : end + 1);
  }
  return page.Text();
}

}  // namespace hotplate::cli
