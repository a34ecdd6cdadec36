// hotplate devices: the daemon's devices.
#include "client/cli/commands.h"
#include "client/cli/jobs/device_text.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

std::string Details(const v1::Device& device, const v1::TelemetrySample& newest) {
  std::vector<std::string> details;
  if (!device.instruction_set().empty()) details.push_back(device.instruction_set());
  if (!device.compute_capability().empty()) details.push_back("compute " + device.compute_capability());
  if (!device.mode().empty() && device.mode() != "default") details.push_back(device.mode());
  if (!device.pci_bus_id().empty()) details.push_back(device.pci_bus_id());
  if (const v1::DeviceSample* sample = SampleOf(newest, device.id())) {
    for (const std::string& word : DeviceWords(*sample)) details.push_back(word);
  }
  if (!device.lost().empty()) details.push_back("LOST: " + device.lost());
  return Join(details, ", ");
}

absl::Status Devices(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto info = client->Info();
  if (!info.ok()) return info.status();
  const auto telemetry = client->Telemetry();
  if (!telemetry.ok()) return telemetry.status();
  v1::TelemetrySample newest;
  if (!telemetry->samples().empty()) newest = *telemetry->samples().rbegin();
  Table table({"ID", "BACK-END", "NAME", "MEMORY", "LANES", "THREADS", "WORKERS", "DETAILS"});
  table.AlignRight(3).AlignRight(4).AlignRight(5).AlignRight(6);
  std::string ids;
  std::vector<std::string> json;
  for (const v1::Device& device : info->devices()) {
    ids += device.id() + "\n";
    json.push_back(ToJson(device));
    table.Row({device.id(), device.backend(), device.name(), BytesText(device.memory_bytes()),
               std::to_string(device.lanes()),
               device.threads_per_lane() > 0 ? std::to_string(device.threads_per_lane()) : "-",
               device.workers() > 0 ? std::to_string(device.workers()) : "-", Details(device, newest)});
  }
  std::string text = table.Text(WidthOf(call.console));
  for (const std::string& note : info->device_notes())
    text += Fitted("  " + Printable(note) + "\n", WidthOf(call.console));
  call.output.Answer([&] { return text; },
                     [&] {
                       return JsonObject()
                           .Raw("devices", JsonArray(json))
                           .Raw("notes", JsonTexts({info->device_notes().begin(), info->device_notes().end()}))
                           .Raw("sample", ToJson(newest))
                           .Json();
                     },
                     ids);
  return absl::OkStatus();
}

}  // namespace

Command DevicesCommand() {
  return {.name = "devices",
          .group = Group::kDevices,
          .summary = "list the devices that kernels run on",
          .details = "Lines below the table say why a back-end, a device, or a library that kernels need is not used.",
          .example = "hotplate devices",
          .run = Devices};
}

}  // namespace hotplate::cli
