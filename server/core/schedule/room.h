// A device's memory as the engine counts it: what may begin now, and after which job there will be room. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hotplate::core {

struct Room {
  std::uint64_t total_bytes = 0;     // that jobs may use
  std::uint64_t free_bytes = 0;      // as the device last said, less what began since
  std::uint64_t reserved_bytes = 0;  // by what runs

  std::uint64_t left() const { return std::min(free_bytes, total_bytes - std::min(reserved_bytes, total_bytes)); }
  // A process that holds a little more does not notice: small jobs need not wait for the next look at free memory.
  bool Fits(std::uint64_t bytes) const { return bytes <= kNegligibleBytes || bytes <= left(); }

  void Take(std::uint64_t bytes);
  // All of it is no longer reserved; `kept_bytes` of it stay in use.
  void GiveBack(std::uint64_t bytes, std::uint64_t kept_bytes = 0);

 private:
  static constexpr std::uint64_t kNegligibleBytes = 1 << 20;
};

// The memory that a job needs on one device that it may run on.
struct DeviceNeed {
  unsigned device = 0;  // its place in the DeviceSet
  std::uint64_t scratch_bytes = 0;
  std::uint64_t peak_bytes = 0;  // inputs, outputs and scratch
  // The part of peak that must be free before the job begins. It includes copies of inputs that the device may have:
  // they count as free there (Device::FreeBytes) while no job uses them, and may be gone by then.
  std::uint64_t extra_bytes = 0;
  std::uint64_t input_bytes_here = 0;  // of the inputs, those that lie on this device alone
};

// The memory that a job takes of a room while it runs, and keeps afterwards.
struct Occupant {
  std::uint64_t bytes = 0, kept_bytes = 0;
};

struct RoomForecast {
  // The first job after whose end there is room, as an index into `running` and then `waiting`; none if there is no
  // room even when all of them have ended.
  std::optional<std::size_t> after;
  std::uint64_t held_bytes = 0;  // of the room, when all have ended
};

// For `bytes` that do not fit now. `running` are in the room, in the order in which they began, which is taken for the
// order in which they end; `waiting` come into it before those bytes, in their order. One that does not fit even when
// all before it have ended waits for something else, and is left out. Optimistic where those that run have not touched
// yet all that they reserved: the device still counts it as free, and their ends free it once more.
RoomForecast ForecastRoom(Room room, std::uint64_t bytes, const std::vector<Occupant>& running,
                          const std::vector<Occupant>& waiting);

}  // namespace hotplate::core
