#include "client/cli/journals/left_behind.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "client/cli/journals/journals.h"
#include "proto/codec/name_lock.h"
#include "server/journal/index.h"
#include "server/journal/index_copy.h"

namespace hotplate::cli {
namespace {

// Bounds on the work, for which hotplate up waits.
constexpr std::size_t kMostRead = 20, kMostTold = 3;

std::int64_t WaitingIn(const journal::Place& place) {
  std::int64_t jobs = 0;
  auto index = journal::IndexCopy::Open(place.folder);
  if (!index.ok()) return 0;
  index
      ->With([&](journal::Index& copy) {
        return journal::Guarded(copy.database(), [&]() -> absl::Status {
          jobs = copy.database().execAndGet("SELECT count(*) FROM jobs WHERE state<3").getInt64();
          return absl::OkStatus();
        });
      })
      .IgnoreError();
  return jobs;
}

}  // namespace

void TellLeftBehind(const Invocation& call, const std::string& name) {
  if (!call.output.talkative()) return;
  auto places = journal::FindPlaces(journal::Disk::Real(), call.settings.directory);
  if (!places.ok()) return;
  std::erase_if(*places, [&](const journal::Place& place) {
    return place.name == name || !codec::IsNameFree(call.settings.directory, place.name);
  });
  // Names with a number behind them: the newest are the last.
  std::reverse(places->begin(), places->end());
  places->resize(std::min(places->size(), kMostRead));
  std::size_t told = 0;
  for (const journal::Place& place : *places) {
    const std::int64_t jobs = WaitingIn(place);
    if (jobs == 0) continue;
    if (told++ == kMostTold) return Remark(call.console, "jobs of other daemons wait, too");
    Remark(call.console, std::to_string(jobs) + (jobs == 1 ? " job waits" : " jobs wait") +
                             " for the next daemon of the name " + place.name + ": hotplate up --name " + place.name);
  }
}

}  // namespace hotplate::cli
