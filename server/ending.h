// The end of a daemon: when it is near, how long what goes on has, and what is done until the process is gone. Used by
// the main thread alone; what takes long runs on others, while this one listens for who has less time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/assembly.h"
#include "server/control.h"
#include "server/saved/last_words.h"
#include "server/saved/saved_arrays.h"
#include "server/slurm/kill_wait.h"

namespace hotplate::server {

// How often the main thread looks at what time has changed.
inline constexpr core::nanoseconds kTick = std::chrono::seconds(1);

class Ending {
 public:
  explicit Ending(Assembly& daemon) : daemon_(daemon) {}

  // The first time that a signal told the daemon to stop.
  void Signalled();
  // True: it is time to drain, and `left` what there is for it.
  bool IsNear(core::nanoseconds& left);
  std::string WhenItEnds() const;
  // The time that a wish for the end leaves to running jobs.
  core::nanoseconds TimeoutOf(const Control::Wish& wish) const;
  core::nanoseconds TimeToSaveWhenIdle() const;
  // Does not return if the daemon leaves. `saving`: how long arrays may be saved, if that is longer than the drain.
  void Drain(core::nanoseconds timeout, const std::string& reason, bool leave, core::nanoseconds saving = {});

 private:
  LastMoments Moments() const;
  // Until the allocation's end, less the margin; negative too. Nothing: no end is known.
  std::optional<core::nanoseconds> Left() const;
  void TellWhatWasSaved();
  std::string WhatStays();
  void SayGoodbye();
  Control::Wish ListenUntil(core::SteadyTime last);
  [[noreturn]] void Leave();

  Assembly& daemon_;
  std::optional<core::SteadyTime> signalled_;  // first told to stop
  std::optional<core::SteadyTime> gone_by_;    // then, where somebody kills
  EndWarnings warnings_;
  // The count of Slurm's answers when it was asked once more before the end, and the time of that.
  std::optional<std::pair<std::uint64_t, core::SteadyTime>> last_look_;
  std::string reason_;
  std::vector<core::JobId> active_at_drain_;
  SavedArrays saved_;
  std::optional<JobIds::LastWords> last_words_;  // once they are known
};

}  // namespace hotplate::server
