#include "client/cli/partitions/wait_text.h"

#include <array>
#include <cstdio>
#include <limits>

#include "client/cli/partitions/accounting.h"
#include "client/cli/terminal/console.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"

namespace hotplate::cli {
namespace {

// The fields of one bin, or of all together.
JsonObject& AddCell(JsonObject& object, const WaitCell& cell) {
  const bool any = cell.jobs > 0;
  return object.Raw("jobs", std::to_string(cell.jobs))
      .Raw("medianSeconds", any ? Number(cell.median) : "null")
      .Raw("p90Seconds", any ? Number(cell.p90) : "null");
}

std::string EdgeJson(const Bins& bins, std::size_t edge) {
  return edge < bins.edges().size() ? Number(bins.edges()[edge]) : "null";
}

}  // namespace

std::string WaitText(double seconds) {
  const auto [value, unit] = seconds < 59.95          ? std::pair(seconds, "s")
                             : seconds < 3597         ? std::pair(seconds / 60, "m")
                             : seconds < 47.95 * 3600 ? std::pair(seconds / 3600, "h")
                                                      : std::pair(seconds / 86400, "d");
  std::array<char, 40> text{};
  const bool whole = value >= 99.95 || value == static_cast<double>(static_cast<long long>(value));
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", value, unit);
  return text.data();
}

std::string WaitTableText(const Bins& bins, const std::vector<PartitionWaits>& waits, bool colour) {
  std::vector<std::string> heads = {"PARTITION"};
  for (std::size_t bin = 0; bin < bins.size(); ++bin) heads.push_back(bins.Label(bin));
  heads.push_back("WAITING NOW");
  Table table(heads);
  for (const PartitionWaits& row : waits) {
    std::vector<std::string> medians = {Paint(colour, Tone::kBold, row.partition)}, p90s = {"  90 %"};
    for (const WaitCell& cell : row.bins) {
      medians.push_back(cell.jobs == 0 ? "-" : WaitText(cell.median) + " (" + std::to_string(cell.jobs) + ")");
      p90s.push_back(cell.jobs == 0 ? "" : WaitText(cell.p90));
    }
    medians.push_back(std::to_string(row.waiting));
    table.Row(medians);
    if (row.all.jobs == row.unknown_size) continue;
    for (std::string& cell : p90s) cell = Paint(colour, Tone::kDim, cell);
    table.Row(p90s);
  }
  return table.Text();
}

std::string WaitJson(const WaitQuestion& question, const WaitTable& table, const std::vector<PartitionWaits>& waits) {
  const Bins& bins = table.bins();
  std::vector<std::string> partitions, edges;
  for (const double edge : bins.edges()) edges.push_back(Number(edge));
  for (const PartitionWaits& row : waits) {
    std::vector<std::string> cells;
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      JsonObject cell;
      cell.Text("label", bins.Label(bin))
          .Raw("from", bin == 0 ? "0" : EdgeJson(bins, bin - 1))
          .Raw("to", EdgeJson(bins, bin));
      cells.push_back(AddCell(cell, row.bins[bin]).Json());
    }
    JsonObject partition;
    partition.Text("name", row.partition);
    AddCell(partition, row.all)
        .Raw("unknownSizeJobs", std::to_string(row.unknown_size))
        .Raw("neverStartedJobs", std::to_string(row.never_started))
        .Raw("waitingNow", std::to_string(row.waiting))
        .Raw("bins", JsonArray(cells));
    partitions.push_back(partition.Json());
  }
  return JsonObject()
      .Text("cluster", question.cluster)
      .Count("since", question.since)
      .Count("until", question.until)
      .Text("by", Name(bins.measure()))
      .Raw("edges", JsonArray(edges))
      .Raw("privateJobs", question.private_jobs ? "true" : "false")
      .Raw("unreadableLines", std::to_string(table.unreadable()))
      .Raw("partitions", JsonArray(partitions))
      .Json();
}

}  // namespace hotplate::cli
