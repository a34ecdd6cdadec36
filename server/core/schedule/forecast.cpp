#include "server/core/schedule/forecast.h"

#include <algorithm>

namespace hotplate::core {

Occupant OccupantOf(const QueueEntry& entry, unsigned device, bool host_memory) {
  // Outputs that are kept stay in the host's memory. Copies of arrays on other devices make room by themselves.
  return {.bytes = entry.NeedOf(device)->extra_bytes, .kept_bytes = host_memory ? entry.kept_bytes : 0};
}

Outlook OutlookNow(const Room& room, const DeviceNeed& need, std::uint64_t abandoned) {
  Outlook outlook;
  outlook.bytes_needed = need.peak_bytes;
  outlook.bytes_total = room.total_bytes;
  outlook.bytes_free = std::min(room.left() + abandoned, room.total_bytes);
  if (!room.Fits(need.extra_bytes) && need.extra_bytes > outlook.bytes_free) outlook.when = Outlook::When::kLater;
  if (need.peak_bytes > room.total_bytes) outlook.when = Outlook::When::kNever;
  return outlook;
}

void LookAhead(std::uint64_t bytes, DeviceLine line, Outlook& outlook) {
  std::sort(line.running.begin(), line.running.end(),
            [](const DeviceLine::Turn& a, const DeviceLine::Turn& b) { return a.since < b.since; });
  std::sort(line.waiting.begin(), line.waiting.end(),
            [](const DeviceLine::Turn& a, const DeviceLine::Turn& b) { return a.position < b.position; });
  const auto occupants = [](const std::vector<DeviceLine::Turn>& of) {
    std::vector<Occupant> all;
    for (const DeviceLine::Turn& turn : of) all.push_back(turn.occupant);
    return all;
  };
  const RoomForecast forecast = ForecastRoom(line.room, bytes, occupants(line.running), occupants(line.waiting));
  if (!forecast.after) {
    outlook.bytes_held = forecast.held_bytes;
    return;
  }
  const std::size_t at = *forecast.after, runs = line.running.size();
  outlook.after = at < runs ? line.running[at].who : line.waiting[at - runs].who;
}

}  // namespace hotplate::core
