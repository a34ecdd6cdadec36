#include "client/cli/jobs/receipt.h"

#include <cmath>
#include <vector>

#include "client/cli/terminal/format.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

std::string Ns(std::uint64_t ns) { return DurationText(nanoseconds(static_cast<std::int64_t>(ns))); }

std::string Moved(std::uint64_t bytes, nanoseconds span) {
  std::string text = BytesText(bytes);
  if (span.count() > 0 && bytes > 0)
    text += " · " + ByteRate(static_cast<double>(bytes) / std::chrono::duration<double>(span).count());
  return text;
}

std::string KernelNote(const v1::Receipt& receipt, v1::JobState state) {
  std::vector<std::string> notes;
  if (state == v1::COMPLETED) {
    // The telling rate: arithmetic if there is much of it per byte, else bandwidth; both in between.
    const double intensity = receipt.has_flop() && receipt.bytes_moved() > 0
                                 ? receipt.flop() / static_cast<double>(receipt.bytes_moved())
                                 : 1;
    if (receipt.has_flop_per_second() && intensity >= 0.2) notes.push_back(FlopRate(receipt.flop_per_second()));
    if (receipt.has_bytes_per_second() && intensity <= 50) notes.push_back(ByteRate(receipt.bytes_per_second()));
  }
  if (receipt.cold()) notes.push_back("cold");
  return Join(notes, " · ");
}

std::string ProcessNote(const v1::ProcessUse& process) {
  std::string note;
  if (process.has_exit_code()) note = "exit code " + std::to_string(process.exit_code()) + " · ";
  if (process.has_signal()) note = "signal " + std::to_string(process.signal()) + " · ";
  if (process.has_warm()) {
    note += "started " + std::string(process.warm() ? "warm" : "anew") + " in " + Ns(process.start_ns());
    if (!process.why_cold().empty()) note += " (" + process.why_cold() + ")";
    note += " · ";
  }
  if (!process.python_environment().empty()) note += process.python_environment() + " · ";
  return note + "user " + Ns(process.user_ns()) + " · system " + Ns(process.system_ns()) + " · " +
         BytesText(process.peak_bytes()) + " at most";
}

std::string Energy(const v1::Receipt& receipt) {
  std::string watts;
  if (receipt.has_mean_watts()) watts += ", " + std::to_string(std::lround(receipt.mean_watts())) + " W mean";
  if (receipt.has_max_watts()) watts += ", " + std::to_string(std::lround(receipt.max_watts())) + " W at most";
  if (receipt.has_utilisation()) watts += ", " + std::to_string(std::lround(receipt.utilisation() * 100)) + " % busy";
  switch (receipt.energy_state()) {
    case v1::ENERGY_MEASURED:
      return "energy " + Number(std::round(receipt.energy_joules() * 100) / 100) + " J" + watts;
    case v1::ENERGY_BELOW_RESOLUTION:
      return "energy below resolution (kernel under 200 ms)";
    case v1::ENERGY_OF_WHOLE_GPU:
      return "energy not measurable of a MIG instance";
    default:
      return "energy not measurable here" + watts;
  }
}

// Whether the figures are this job's alone. Without a word on processes, only the daemon's own jobs are known.
std::string Sharing(const v1::Receipt& receipt) {
  if (receipt.other_processes() > 0) {
    return "device shared with " + std::to_string(receipt.other_processes()) +
           (receipt.other_processes() == 1 ? " other process" : " other processes");
  }
  if (receipt.device_shared()) return "device shared with other jobs";
  return receipt.has_other_processes() ? "device not shared" : "no other job on it";
}

// Energy, clocks, and disturbances of the measurement.
std::string Conditions(const v1::Receipt& receipt) {
  std::vector<std::string> notes = {Energy(receipt)};
  if (receipt.has_sm_clock_mhz()) notes.push_back(std::to_string(receipt.sm_clock_mhz()) + " MHz");
  if (receipt.has_throttled()) {
    const std::string why = Join({receipt.throttle_reasons().begin(), receipt.throttle_reasons().end()}, ", ");
    notes.push_back(!receipt.throttled() ? "no throttling" : "THROTTLED" + (why.empty() ? "" : " (" + why + ")"));
  }
  if (receipt.has_ecc_errors() && receipt.ecc_errors()) notes.push_back("ECC ERRORS");
  if (receipt.has_xid_errors() && receipt.xid_errors()) notes.push_back("XID ERRORS");
  if (receipt.has_device_shared()) notes.push_back(Sharing(receipt));
  return Join(notes, " · ");
}

// The time in no other row, so that the rows add up: "1.2 ms between steps on the daemon · 3.0 ms …". No row if it is
// next to nothing.
void AddOther(Table& table, const v1::Receipt& receipt, const std::optional<client::ClientTimings>& client) {
  const auto ns = [](std::uint64_t count) { return nanoseconds(static_cast<std::int64_t>(count)); };
  const nanoseconds daemon = ns(receipt.total_ns());
  const nanoseconds between = daemon - ns(receipt.queue_ns()) - ns(receipt.load_ns()) -
                              ns(receipt.host_to_device_ns()) - ns(receipt.compile_ns()) - ns(receipt.kernel_ns()) -
                              ns(receipt.device_to_host_ns()) - ns(receipt.store_ns());
  const nanoseconds whole = client ? client->total : daemon;
  const nanoseconds calls = client ? client->total - client->upload - client->download - daemon : nanoseconds(0);
  nanoseconds sum{};
  std::vector<std::string> parts;
  const auto add = [&](nanoseconds part, const char* what) {
    if (part.count() <= 0 || part < whole / 50) return;
    sum += part;
    parts.push_back(DurationText(part) + what);
  };
  add(between, " between steps on the daemon");
  add(calls, " in calls to it and back");
  if (!parts.empty()) table.Row({"other", DurationText(sum), Join(parts, " · ")});
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
  if (receipt.deterministic()) where += "  deterministic";
  if (receipt.has_seed()) where += "  seed " + std::to_string(receipt.seed());

  Table table;
  table.Indent(2).AlignRight(1);
  table.Row({"queue", Ns(receipt.queue_ns())});
  if (client && client->bytes_up > 0)
    table.Row({"upload", DurationText(client->upload), Moved(client->bytes_up, client->upload)});
  if (receipt.has_load_ns()) table.Row({"load", Ns(receipt.load_ns()), "inputs by path or from another device"});
  if (receipt.has_host_to_device_ns()) table.Row({"h→d", Ns(receipt.host_to_device_ns())});
  if (receipt.has_compile_ns())
    table.Row({"compile", Ns(receipt.compile_ns()), receipt.compile_cache_hit() ? "cache hit" : "cache miss"});
  if (receipt.has_process()) {
    table.Row({"program", Ns(receipt.kernel_ns()), ProcessNote(receipt.process())});
  } else if (receipt.has_kernel_ns()) {
    table.Row({"kernel", Ns(receipt.kernel_ns()), KernelNote(receipt, state)});
  }
  if (receipt.has_device_to_host_ns()) table.Row({"d→h", Ns(receipt.device_to_host_ns())});
  if (receipt.has_store_ns()) table.Row({"store", Ns(receipt.store_ns()), "outputs by path"});
  if (client && client->bytes_down > 0)
    table.Row({"download", DurationText(client->download), Moved(client->bytes_down, client->download)});
  AddOther(table, receipt, client);
  table.Row({"total", Ns(receipt.total_ns()),
             "on the daemon" + (client ? ", " + DurationText(client->total) + " seen from here" : std::string())});
  const std::string warning = receipt.warning().empty() ? "" : "  warning: " + Printable(receipt.warning()) + "\n";
  return Printable(where) + "\n" + table.Text() + "  " + Conditions(receipt) + "\n" + warning;
}

void WriteReceipt(Console& console, const v1::Receipt& receipt, v1::JobState state,
                  const std::optional<client::ClientTimings>& client) {
  console.err << Fitted(ReceiptText(receipt, state, client), ErrorWidthOf(console)) << std::flush;
}

}  // namespace hotplate::cli
