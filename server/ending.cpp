#include "server/ending.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

#include "kernels/base/quantity.h"
#include "server/daemon.h"

namespace hotplate::server {
namespace {

using core::nanoseconds;
using std::chrono::seconds;

// For arrays when nothing else goes on.
constexpr nanoseconds kLongestSaving = std::chrono::minutes(5);
constexpr nanoseconds kLongestLastDrain = std::chrono::minutes(2);
// At a time limit and at scancel Slurm sends SIGTERM twice, milliseconds apart: such a pair is one signal.
constexpr nanoseconds kOneSignal = seconds(3);
// How long the last look at the allocation's end may hold the drain up.
constexpr nanoseconds kLastLook = seconds(5);

}  // namespace

std::string Ending::WhenItEnds() const { return "the allocation ends at " + UtcText(*daemon_.allocation_end().Get()); }

LastMoments Ending::Moments() const {
  return Divide(signalled_ && !daemon_.allocation().empty() ? daemon_.kill_wait() : nanoseconds(kSlurmKillWait));
}

std::optional<nanoseconds> Ending::Left() const {
  const std::optional<core::WallTime> end = daemon_.allocation_end().Get();
  if (!end) return std::nullopt;
  return *end - daemon_.clock().WallNow() - kEndMargin;
}

// True: it is time to drain, and `left` what there is for it.
bool Ending::IsNear(nanoseconds& left) {
  const std::optional<nanoseconds> until_margin = Left();
  if (!until_margin) return false;
  left = *until_margin + kEndMargin;
  if (warnings_.Due(left)) {
    const std::string text =
        WhenItEnds() +
        (daemon_.config().journal == kNoJournal
             ? ": what runs then is cancelled"
             : ": jobs that were submitted go on with the next daemon of this name, what else runs then is cancelled");
    daemon_.log()->warn("{}; {} are left", text,
                        DurationText(std::chrono::ceil<seconds>(std::max(left, nanoseconds(0)))));
    daemon_.engine().Announce(text, std::max(0.0, std::chrono::duration<double>(left).count()));
  }
  left -= kEndMargin;
  if (left > std::min(daemon_.config().drain_timeout, kLongestLastDrain)) {
    last_look_.reset();
    return false;
  }
  left = std::max(left, nanoseconds(0));
  // The end may have been put off since Slurm was last asked; the daemon itself may have been suspended.
  if (!last_look_) {
    if (!daemon_.allocation_end().Refresh()) return true;
    last_look_ = {daemon_.allocation_end().answers(), daemon_.clock().Now()};
    return false;
  }
  return daemon_.allocation_end().answers() != last_look_->first ||
         daemon_.clock().Now() - last_look_->second >= kLastLook;
}

// Nothing is granted that the allocation does not last for.
nanoseconds Ending::TimeoutOf(const Control::Wish& wish) const {
  const bool signal = wish.kind == Control::Wish::Kind::kSignal;
  nanoseconds timeout = wish.timeout.value_or(daemon_.config().drain_timeout);
  if (signal && !daemon_.allocation().empty()) timeout = std::min(timeout, Divide(daemon_.kill_wait()).jobs);
  const std::optional<nanoseconds> left = Left();
  if (!left) return timeout;
  if (*left > nanoseconds(0)) return std::min(timeout, *left);
  return signal ? timeout : nanoseconds(0);
}

nanoseconds Ending::TimeToSaveWhenIdle() const {
  return std::clamp(Left().value_or(kLongestSaving), nanoseconds(0), kLongestSaving);
}

// On other threads while this one listens: a second signal, or the very last moment, ends the process. Arrays are saved
// from the start, since what is complete does not change any more, and those that jobs still make at the end.
void Ending::Drain(nanoseconds timeout, const std::string& reason, bool leave, nanoseconds saving) {
  reason_ = reason;
  daemon_.control().StartDraining();
  daemon_.server().SetServing(false);
  const auto announce = [this](nanoseconds left, const std::string& why) {
    daemon_.log()->info("draining: {}; jobs and transfers have {}", why,
                        DurationText(std::chrono::ceil<std::chrono::milliseconds>(left)));
    daemon_.engine().Announce("the daemon is draining: " + why, static_cast<double>(left.count()) * 1e-9);
  };
  announce(timeout, reason);
  core::SteadyTime end = daemon_.clock().Now() + timeout;
  core::SteadyTime saving_end = std::max(end + Moments().after, daemon_.clock().Now() + saving);
  // Here, so that whatever shortens it comes after it.
  daemon_.engine().BeginDrain(timeout, reason);
  if (active_at_drain_.empty()) active_at_drain_ = ActiveJobs(daemon_.engine());
  if (leave) daemon_.saver().Start(saving_end);
  std::thread drainer([this] {
    const bool all_ended = daemon_.engine().AwaitDrained();
    daemon_.log()->info("drained: {}{}", all_ended ? "every job ended by itself" : "jobs were cancelled",
                        daemon_.arrays().HasUnread() ? "; results are lost that nobody came for" : "");
    daemon_.control().Finished();
  });
  // Takes further wishes until `last` has passed. Returns true when the running work is done.
  const auto finished = [&](core::SteadyTime last) {
    Control::Wish wish = ListenUntil(last + Moments().resort);
    if (wish.kind == Control::Wish::Kind::kFinished) return true;
    nanoseconds given = TimeoutOf(wish), slack{};
    if (wish.kind == Control::Wish::Kind::kNone) {
      // The allocation's end is looked at here too: it may come nearer. What Slurm's signal at the end was granted
      // stays.
      if (!IsNear(given) || (signalled_ && given == nanoseconds(0))) return false;
      wish = {Control::Wish::Kind::kShutdown, std::nullopt, WhenItEnds()};
      slack = kTick;  // the same end, seen once more, is no news
    }
    // Somebody has less time than the drain was given, or more, which is not granted.
    leave = leave || wish.kind != Control::Wish::Kind::kDrain;
    const core::SteadyTime wished = daemon_.clock().Now() + given;
    if (wished + slack < end) {
      end = wished;
      announce(given, wish.reason);
      daemon_.engine().ShortenDrain(given);
    }
    saving_end = std::min(saving_end, std::max(wished, end) + Moments().after);
    if (!leave) return false;
    if (!daemon_.saver().started()) daemon_.saver().Start(saving_end);
    daemon_.saver().Shorten(saving_end);
    return false;
  };
  while (!finished(end)) {
  }
  drainer.join();
  if (!leave) return;

  std::thread finisher([this] {
    saved_ = daemon_.saver().Finish();
    daemon_.control().Finished();
  });
  while (!finished(saving_end)) {
  }
  finisher.join();
  // First, should the file system take its time with what older daemons left.
  TellWhatWasSaved();
  std::thread tidier([this] {
    if (const std::string why_not = daemon_.saver().DropOld(); !why_not.empty()) daemon_.log()->warn("{}", why_not);
    daemon_.control().Finished();
  });
  while (!finished(saving_end)) {
  }
  tidier.join();
  SayGoodbye();
}

void Ending::TellWhatWasSaved() {
  std::vector<std::string> saved, dropped;
  for (const SavedArrays::One& one : saved_.all) (one.file.empty() ? dropped : saved).push_back(one.name);
  if (!saved.empty())
    daemon_.engine().Announce("saved in " + SavedArraysFolder(daemon_.config()) + ": " + Listed(saved), std::nullopt);
  if (!dropped.empty())
    daemon_.engine().Announce("could not be saved, and go with the daemon: " + Listed(dropped), std::nullopt);
}

std::string Ending::WhatStays() {
  const std::string arrays = WhatIsSaved(saved_), jobs = WhatGoesOn(daemon_.engine(), daemon_.config().name);
  return jobs + (jobs.empty() || arrays.empty() ? "" : "; ") + arrays;
}

void Ending::SayGoodbye() {
  const nanoseconds time = Moments().goodbye;
  std::thread goodbye([this, time] {
    daemon_.server().Shutdown(daemon_.clock().WallNow() + std::chrono::duration_cast<core::WallTime::duration>(time));
    daemon_.allocation_end().Stop();
    daemon_.control().Finished();
  });
  while (ListenUntil(daemon_.clock().Now() + time + Moments().resort).kind != Control::Wish::Kind::kFinished) {
  }
  goodbye.join();
  last_words_ = {
      .held = WhatIsDropped(daemon_.engine(), saved_, active_at_drain_), .saved = WhatStays(), .reason = reason_};
  if (!last_words_->saved.empty()) daemon_.log()->info("saved: {}", last_words_->saved);
  if (!last_words_->held.empty()) daemon_.log()->info("dropped with this daemon: {}", last_words_->held);
  Leave();
}

// The next wish, or none after a while. Leaves at once if `last` passes first, or if this is the second signal: the
// first may be that of a batch system, about a drain that has begun without it.
Control::Wish Ending::ListenUntil(core::SteadyTime last) {
  if (gone_by_) last = std::min(last, *gone_by_ - Moments().last);
  Control::Wish wish =
      daemon_.control().Wait(std::clamp<nanoseconds>(last - daemon_.clock().Now(), nanoseconds(0), kTick));
  const core::SteadyTime now = daemon_.clock().Now();
  if (wish.kind == Control::Wish::Kind::kSignal) {
    if (!signalled_) {
      Signalled();
    } else if (wish.reason == "SIGINT" || now - *signalled_ >= kOneSignal) {
      daemon_.log()->warn("{} again while draining: leaving at once", wish.reason);
      Leave();
    } else {
      wish = {};
    }
  }
  if (wish.kind == Control::Wish::Kind::kNone && now >= last) {
    daemon_.log()->warn("something still runs after the drain timeout: leaving");
    Leave();
  }
  return wish;
}

// The first time. Each of the last moments is bounded where it is waited for; together they are bounded here, whatever
// this thread does then: a line of the log may go to a file system that hangs, and every lock may be held.
void Ending::Signalled() {
  signalled_ = daemon_.clock().Now();
  if (daemon_.allocation().empty()) return;
  gone_by_ = *signalled_ + Moments().all();
  std::thread([end = *gone_by_] {
    std::this_thread::sleep_until(end);
    std::_Exit(kExitOk);
  }).detach();
}

// The record goes first, then the process, without waiting for a lane that may sit in a call which cannot be
// interrupted, for anybody's lock but the log's, or for long for a file system.
void Ending::Leave() {
  const auto done = std::make_shared<std::promise<void>>();
  std::thread([this, done] {
    daemon_.Withdraw();
    if (const std::vector<std::string> names = daemon_.saver().Abandon(); !names.empty()) {
      daemon_.log()->warn("not saved: {}", Listed(names));
    }
    daemon_.log()->info("stopped");
    daemon_.log()->flush();
    daemon_.job_ids()
        .End({daemon_.engine().last_number(), daemon_.engine().arrays().last_number()}, last_words_)
        .IgnoreError();
    daemon_.EndAuditLog(reason_);
    if (DurableJobs* const durable = daemon_.durable(); durable != nullptr) durable->Close(reason_);
    daemon_.LeaveWarmPythons();
    done->set_value();
  }).detach();
  // Where KillWait is short, what the steps before have left of it is for the record as well.
  nanoseconds last = Moments().last;
  if (gone_by_)
    last = std::max(last, std::min<nanoseconds>(*gone_by_ - daemon_.clock().Now(), Divide(kSlurmKillWait).last));
  done->get_future().wait_for(last);
  std::_Exit(kExitOk);
}

}  // namespace hotplate::server
