#include "server/core/schedule/room.h"

namespace hotplate::core {

void Room::Take(std::uint64_t bytes) {
  reserved_bytes += bytes;
  free_bytes -= std::min(free_bytes, bytes);
}

void Room::GiveBack(std::uint64_t bytes, std::uint64_t kept_bytes) {
  reserved_bytes -= std::min(reserved_bytes, bytes);
  free_bytes = std::min(free_bytes + bytes - std::min(bytes, kept_bytes), total_bytes);
}

RoomForecast ForecastRoom(Room room, std::uint64_t bytes, const std::vector<Occupant>& running,
                          const std::vector<Occupant>& waiting) {
  const auto occupant = [&](std::size_t index) -> const Occupant& {
    return index < running.size() ? running[index] : waiting[index - running.size()];
  };
  std::vector<std::size_t> inside(running.size());
  for (std::size_t i = 0; i < inside.size(); ++i) inside[i] = i;
  std::size_t ended = 0;  // the first of `inside`
  const auto make_room = [&](std::uint64_t wanted) {
    while (!room.Fits(wanted) && ended < inside.size()) {
      const Occupant& one = occupant(inside[ended++]);
      room.GiveBack(one.bytes, one.kept_bytes);
    }
    return room.Fits(wanted);
  };
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Room room_before = room;
    const std::size_t ended_before = ended;
    if (!make_room(waiting[i].bytes)) {  // it shifts nobody
      room = room_before;
      ended = ended_before;
      continue;
    }
    room.Take(waiting[i].bytes);
    inside.push_back(running.size() + i);
  }
  RoomForecast forecast;
  if (make_room(bytes) && ended > 0) {
    forecast.after = inside[ended - 1];
  } else {
    forecast.held_bytes = room.total_bytes - std::min(room.free_bytes, room.total_bytes);
  }
  return forecast;
}

}  // namespace hotplate::core
