#include "server/saved/held_notes.h"

#include <chrono>
#include <stop_token>
#include <utility>

#include "kernels/base/stoppable_sleep.h"
#include "server/saved/last_words.h"

namespace hotplate::server {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kInterval(1);
// The same once more, so that the daemon is seen to live.
constexpr std::chrono::minutes kSeenInterval(5);
constexpr std::chrono::seconds kRefreshInterval(10);
constexpr std::chrono::seconds kRoomInterval(10);

}  // namespace

HeldNotes::HeldNotes(core::Engine& engine, JobIds& ids, ArraySaver& saver,
                     std::function<void(const std::string&)> failed)
    : engine_(engine),
      ids_(ids),
      saver_(saver),
      failed_(std::move(failed)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void HeldNotes::Run(const std::stop_token& stop) {
  std::string noted;
  JobIds::LastNumbers noted_numbers;
  steady_clock::time_point noted_at = steady_clock::now(), refreshed_at = noted_at, looked_at = noted_at;
  saver_.LookAtRoom();
  while (SleepUnlessStopped(stop, kInterval)) {
    const steady_clock::time_point now = steady_clock::now();
    if (now - refreshed_at >= kRefreshInterval) {
      refreshed_at = now;
      ids_.Refresh();
    }
    if (now - looked_at >= kRoomInterval) {
      looked_at = now;
      saver_.LookAtRoom();
    }
    std::string held = WhatWouldGo(engine_);
    const JobIds::LastNumbers numbers{engine_.last_number(), engine_.arrays().last_number()};
    if (held == noted && numbers == noted_numbers && now - noted_at < kSeenInterval) continue;
    if (absl::Status status = ids_.Note(held, numbers); !status.ok()) {
      failed_(std::string(status.message()));
      continue;
    }
    noted = std::move(held);
    noted_numbers = numbers;
    noted_at = now;
  }
}

}  // namespace hotplate::server
