#include "client/cli/receipt.h"

#include <vector>

#include "client/cli/console.h"
#include "client/cli/format.h"
#include "client/cli/table.h"

namespace hotplate::cli {
namespace {

std::string Ns(std::uint64_t ns) { return Span(nanoseconds(static_cast<std::int64_t>(ns))); }

std::string Moved(std::uint64_t bytes, nanoseconds span) {
  std::string text = Bytes(static_cast<double>(bytes));
  if (span.count() > 0 && bytes > 0)
    text += " · " + ByteRate(static_cast<double>(bytes) / std::chrono::duration<double>(span).count());
  return text;
}

std::string KernelNote(const v1::Receipt& receipt, v1::JobState state) {
  std::vector<std::string> notes;
  if (state == v1::COMPLETED) {
    // The rate that says something: arithmetic where there is much of it per byte, else bandwidth, between them both.
    const double intensity = receipt.has_flop() && receipt.bytes_moved() > 0
                                 ? receipt.flop() / static_cast<double>(receipt.bytes_moved())
                                 : 1;
    if (receipt.has_flop_per_second() && intensity >= 0.2) notes.push_back(FlopRate(receipt.flop_per_second()));
    if (receipt.has_bytes_per_second() && intensity <= 50) notes.push_back(ByteRate(receipt.bytes_per_second()));
    if (receipt.has_share_of_peak())
      notes.push_back(Percent(receipt.share_of_peak()) + " of this device's measured peak");
  }
  if (receipt.cold()) notes.push_back("cold");
  return Join(notes, " · ");
}

// Energy, clocks and what may have disturbed the measurement.
std::string Conditions(const v1::Receipt& receipt) {
  std::vector<std::string> notes;
  if (receipt.has_energy_joules()) {
    std::string energy =
        "energy " + Number(static_cast<double>(static_cast<std::int64_t>(receipt.energy_joules() * 100)) / 100) + " J";
    if (receipt.has_mean_watts()) energy += ", " + std::to_string(static_cast<int>(receipt.mean_watts())) + " W mean";
    notes.push_back(energy);
  } else {
    notes.push_back("energy below resolution or not measurable here");
  }
  if (receipt.has_sm_clock_mhz()) notes.push_back(std::to_string(receipt.sm_clock_mhz()) + " MHz");
  if (receipt.has_throttled()) notes.push_back(receipt.throttled() ? "THROTTLED" : "no throttling");
  if (receipt.has_ecc_errors() && receipt.ecc_errors()) notes.push_back("ECC ERRORS");
  if (receipt.has_xid_errors() && receipt.xid_errors()) notes.push_back("XID ERRORS");
  if (receipt.has_device_shared())
    notes.push_back(receipt.device_shared() ? "device shared with other work" : "device not shared");
  return Join(notes, " · ");
}

}  // namespace

std::string ReceiptText(const v1::Receipt& receipt, v1::JobState state,
                        const std::optional<client::ClientTimings>& client) {
  std::string where = "job " + receipt.job_id() + "  " + receipt.kernel() + " on " + receipt.device();
  if (!receipt.device_name().empty()) where += " (" + receipt.device_name();
  if (receipt.threads() > 0)
    where += ", " + std::to_string(receipt.threads()) + (receipt.threads() == 1 ? " thread" : " threads");
  if (!receipt.device_name().empty()) where += ")";
  if (!receipt.precision().empty() && receipt.precision() != "default") where += "  precision " + receipt.precision();

  Table table;
  table.Indent(2).AlignRight(1);
  table.Row({"queue", Ns(receipt.queue_ns())});
  if (client && client->bytes_up > 0)
    table.Row({"upload", Span(client->upload), Moved(client->bytes_up, client->upload)});
  if (receipt.has_load_ns()) table.Row({"load", Ns(receipt.load_ns()), "read by path"});
  if (receipt.has_host_to_device_ns()) table.Row({"h→d", Ns(receipt.host_to_device_ns())});
  if (receipt.has_compile_ns())
    table.Row({"compile", Ns(receipt.compile_ns()), receipt.compile_cache_hit() ? "cache hit" : "cache miss"});
  if (receipt.has_kernel_ns()) table.Row({"kernel", Ns(receipt.kernel_ns()), KernelNote(receipt, state)});
  if (receipt.has_device_to_host_ns()) table.Row({"d→h", Ns(receipt.device_to_host_ns())});
  if (client && client->bytes_down > 0)
    table.Row({"download", Span(client->download), Moved(client->bytes_down, client->download)});
  table.Row({"total", Ns(receipt.total_ns()),
             "on the daemon" + (client ? ", " + Span(client->total) + " seen from here" : std::string())});
  return Printable(where) + "\n" + table.Text() + "  " + Conditions(receipt) + "\n";
}

}  // namespace hotplate::cli
