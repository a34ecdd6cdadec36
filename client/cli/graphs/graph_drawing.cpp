#include "client/cli/graphs/graph_drawing.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

constexpr int kBoxWidth = 168, kBoxHeight = 44, kGapX = 56, kGapY = 20, kMargin = 16, kTitle = 28;

std::string Escaped(const std::string& text) {  // for XML
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

const char* ColourOf(v1::JobState state) {
  switch (state) {
    case v1::COMPLETED:
      return "#d7efdc";
    case v1::RUNNING:
      return "#d8e6fa";
    case v1::FAILED:
    case v1::TIMEOUT:
      return "#f8d7d5";
    case v1::CANCELLED:
      return "#e4e4e4";
    default:
      return "#ffffff";
  }
}

std::string KernelTimeOf(const v1::Job& job) {
  if (!job.has_receipt() || job.receipt().kernel_ns() == 0) return "";
  return DurationText(std::chrono::nanoseconds(job.receipt().kernel_ns()));
}

std::string NeedsText(const std::vector<DrawnNode>& nodes, const std::vector<std::size_t>& places) {
  std::vector<std::string> names;
  for (const std::size_t place : places) names.push_back(nodes[place].name);
  return Join(names, ", ");
}

// "5 nodes: 3 COMPLETED, 1 RUNNING, 1 PENDING"
std::string CountText(const std::vector<DrawnNode>& nodes) {
  std::vector<std::string> counts;
  for (const v1::JobState state : {v1::COMPLETED, v1::RUNNING, v1::PENDING, v1::FAILED, v1::TIMEOUT, v1::CANCELLED}) {
    const auto count =
        std::count_if(nodes.begin(), nodes.end(), [state](const DrawnNode& node) { return node.job.state() == state; });
    if (count > 0) counts.push_back(absl::StrCat(count, " ", StateName(state)));
  }
  return absl::StrCat(nodes.size(), nodes.size() == 1 ? " node: " : " nodes: ", Join(counts, ", "));
}

std::string QuotedForDot(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::vector<DrawnNode> DrawnNodes(std::vector<v1::Job> jobs) {
  const auto number = [](const v1::Job& job) { return std::strtoull(job.id().c_str(), nullptr, 10); };
  std::sort(jobs.begin(), jobs.end(), [&](const v1::Job& a, const v1::Job& b) { return number(a) < number(b); });
  std::map<std::string, std::size_t> place;
  std::vector<DrawnNode> nodes;
  for (v1::Job& job : jobs) {
    DrawnNode node;
    node.name = Printable(job.node().empty() ? job.id() : job.node());
    for (const std::string& id : job.depends_on()) {
      const auto other = place.find(id);
      if (other == place.end()) continue;
      node.needs.push_back(other->second);
      node.depth = std::max(node.depth, nodes[other->second].depth + 1);
    }
    place[job.id()] = nodes.size();
    node.job = std::move(job);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string GraphText(const std::string& graph, const std::vector<DrawnNode>& nodes, bool colour) {
  constexpr std::size_t kDeepest = 12;  // columns would leave no room for the rest
  Table table;
  table.Indent(2);
  for (const DrawnNode& node : nodes) {
    const std::size_t depth = std::min(node.depth, kDeepest);
    const std::string branch = depth == 0 ? "" : std::string(3 * (depth - 1), ' ') + "└─ ";
    table.Row({branch + node.name, PaintedState(colour, node.job.state()), node.job.kernel(), "job " + node.job.id(),
               node.job.device().empty() ? "-" : node.job.device(), KernelTimeOf(node.job),
               node.needs.empty() ? "" : "← " + NeedsText(nodes, node.needs)});
  }
  std::string text = "graph " + Printable(graph) + "   " + CountText(nodes) + "\n" + table.Text();
  for (const DrawnNode& node : nodes) {
    if (node.job.state() == v1::FAILED || node.job.state() == v1::TIMEOUT)
      text += "  " + node.name + ": " + Printable(node.job.error().message()) + "\n";
  }
  return text;
}

std::string GraphDot(const std::string& graph, const std::vector<DrawnNode>& nodes) {
  std::string text = "digraph " + QuotedForDot(graph) + " {\n  rankdir=LR;\n  node [shape=box, style=filled];\n";
  for (const DrawnNode& node : nodes) {
    text += absl::StrCat("  ", QuotedForDot(node.job.id()), " [label=",
                         QuotedForDot(node.name + " · " + node.job.kernel() + " · " + StateName(node.job.state())),
                         ", fillcolor=\"", ColourOf(node.job.state()), "\"];\n");
    for (const std::size_t need : node.needs)
      absl::StrAppend(&text, "  ", QuotedForDot(nodes[need].job.id()), " -> ", QuotedForDot(node.job.id()), ";\n");
  }
  return text + "}\n";
}

std::string GraphSvg(const std::string& graph, const std::vector<DrawnNode>& nodes) {
  std::map<std::size_t, int> rows;  // by column
  std::vector<std::pair<int, int>> at;
  int width = 0, height = 0;
  for (const DrawnNode& node : nodes) {
    const int x = kMargin + static_cast<int>(node.depth) * (kBoxWidth + kGapX);
    const int y = kMargin + kTitle + rows[node.depth]++ * (kBoxHeight + kGapY);
    at.emplace_back(x, y);
    width = std::max(width, x + kBoxWidth + kMargin);
    height = std::max(height, y + kBoxHeight + kMargin);
  }
  std::string arrows, boxes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const DrawnNode& node = nodes[i];
    const auto [x, y] = at[i];
    for (const std::size_t need : node.needs) {
      const int from_x = at[need].first + kBoxWidth, from_y = at[need].second + kBoxHeight / 2;
      const int to_y = y + kBoxHeight / 2, middle = (from_x + x) / 2;
      absl::StrAppend(&arrows, "<path d=\"M", from_x, " ", from_y, " C", middle, " ", from_y, " ", middle, " ", to_y,
                      " ", x, " ", to_y, "\" fill=\"none\" stroke=\"#707070\" marker-end=\"url(#tip)\"/>\n");
    }
    const std::string time = KernelTimeOf(node.job);
    const std::string below =
        node.job.kernel() + " · " + StateName(node.job.state()) + (time.empty() ? "" : " · " + time);
    absl::StrAppend(&boxes, "<g><title>", Escaped("job " + node.job.id() + " " + node.job.error().message()),
                    "</title>", "<rect x=\"", x, "\" y=\"", y, "\" width=\"", kBoxWidth, "\" height=\"", kBoxHeight,
                    "\" rx=\"6\" fill=\"", ColourOf(node.job.state()), "\" stroke=\"#404040\"/>", "<text x=\"", x + 10,
                    "\" y=\"", y + 18, "\" font-weight=\"bold\">", Escaped(node.name), "</text><text x=\"", x + 10,
                    "\" y=\"", y + 35, "\" font-size=\"11\">", Escaped(below), "</text></g>\n");
  }
  return absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height, "\" viewBox=\"0 0 ", width,
      " ", height, "\" font-family=\"sans-serif\" font-size=\"13\">\n",
      "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">",
      "<path d=\"M0 0 L8 4 L0 8 z\" fill=\"#707070\"/></marker></defs>\n",
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>", "<text x=\"", kMargin, "\" y=\"", kMargin + 12, "\">",
      Escaped("graph " + graph + ", " + CountText(nodes)), "</text>\n", arrows, boxes, "</svg>\n");
}

}  // namespace hotplate::cli
