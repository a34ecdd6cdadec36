// Where an entry of the queue stands: who runs where it wants to, who is before it, and what room there is. A copy of
// that moment, so that it can be thought about without a lock; and what follows from it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/core/schedule/forecast.h"
#include "server/core/schedule/queue.h"
#include "server/core/schedule/room.h"
#include "server/core/schedule/run_times.h"

namespace hotplate::core {

struct Standing {
  struct Device {
    std::string id;
    bool host_memory = false;
    bool lost = false;
    std::uint32_t places = 0;  // lanes, or a worker's places: those of the entry's kind
    std::uint32_t free_places = 0;
    Room room;
    // Limits of waiting kinds, where they are below `places` (SideBySide).
    std::vector<std::pair<RunTimes::Kind, std::uint32_t>> most_of_kind = {};
    std::uint32_t MostOf(RunTimes::Kind kind) const;
  };
  struct Running {
    SeenEntry who;
    unsigned device = 0;
    bool beside = false;       // in a place of the entry's kind
    std::uint32_t places = 1;  // that it has of these
    Occupant occupant;
    RunTimes::Kind kind = RunTimes::kNoKind;
    nanoseconds so_far{};
    std::optional<nanoseconds> left = std::nullopt;  // probably
  };
  struct Waiting {
    SeenEntry who;
    std::uint32_t places = 1;
    std::vector<DeviceNeed> needs;
    std::uint64_t kept_bytes = 0;
    RunTimes::Kind kind = RunTimes::kNoKind;
    std::optional<nanoseconds> time = std::nullopt;  // that it will probably run for
  };

  QueueEntry::Place place = QueueEntry::Place::kOut;
  bool for_worker = false;
  std::vector<Device> devices;   // all, by their place in the DeviceSet
  std::vector<Running> running;  // on devices that the entry may run on
  EntriesAhead ahead;
  std::size_t ahead_in_turn = 0;     // kAside: those that have its turn before it
  std::vector<Waiting> first_ahead;  // in their order
  bool all_listed = true;            // there are no others ahead
  // Else the numbers of all, about, by their kinds.
  std::vector<std::pair<RunTimes::Kind, double>> kinds_ahead;
  // How long all of these probably run, together, and for how many of them nothing is known.
  nanoseconds time_ahead{};
  double unknown_ahead = 0;
  Waiting own;

  // Places for each job of this kind that may run: more than one where the kind is limited.
  double PlacesForEachOf(RunTimes::Kind kind) const;
  // Fills in the times that it is said above are probable.
  void Foretell(const RunTimes& times);
};

struct StartForecast {
  std::optional<nanoseconds> starts_in;  // from now; 0: at once
  // Else: whose run time is unknown, as far as that is one entry; nobody: it will not start for want of room.
  std::optional<SeenEntry> unknown = std::nullopt;
};

// When it will probably start, if nobody else comes and nobody leaves. Plays the start of each entry that is ahead, or
// of many takes their times together.
StartForecast ForecastStart(const Standing& standing);

// Until the end of what has run `so_far`: by its own word for how far it is, or by how long it was foretold to run. One
// that takes longer is taken to go on for an eighth of its time.
std::optional<nanoseconds> TimeLeft(const std::optional<nanoseconds>& foretold, nanoseconds so_far, double progress);

}  // namespace hotplate::core
