#include "server/core/jobs/observers.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace hotplate::core {
namespace {

const std::shared_ptr<const JobEnd>& NoEnd() {
  static const std::shared_ptr<const JobEnd> none;
  return none;
}

}  // namespace

std::shared_ptr<Subscriber>& Observers::SubscriberOf(std::shared_ptr<JobObserver> observer) {
  std::shared_ptr<Subscriber>& subscriber = subscribers_[observer.get()];
  if (subscriber == nullptr) {
    subscriber = std::make_shared<Subscriber>();
    subscriber->observer = std::move(observer);
  }
  return subscriber;
}

void Observers::Stay(std::shared_ptr<JobObserver> observer) {
  mutex_.AssertHeld();
  SubscriberOf(std::move(observer))->stays = true;
}

void Observers::Add(Job& job, std::shared_ptr<JobObserver> observer, std::uint64_t tag, unsigned next, bool owner) {
  mutex_.AssertHeld();
  auto subscription = std::make_shared<Subscription>();
  subscription->subscriber = SubscriberOf(std::move(observer));
  subscription->tag = tag;
  subscription->owner = owner;
  subscription->next = next;
  subscription->subscriber->jobs.insert(&job);
  job.subscriptions.push_back(std::move(subscription));
}

std::shared_ptr<Subscriber> Observers::Close(const std::shared_ptr<JobObserver>& observer,
                                             absl::FunctionRef<void(Job& job, bool owner)> lost) {
  mutex_.AssertHeld();
  const auto at = subscribers_.find(observer.get());
  if (at == subscribers_.end()) return nullptr;
  std::shared_ptr<Subscriber> subscriber = std::move(at->second);
  subscribers_.erase(at);
  subscriber->closed.store(true);
  for (Job* job : std::exchange(subscriber->jobs, {})) {
    bool owner = false;
    std::erase_if(job->subscriptions, [&](const std::shared_ptr<Subscription>& one) {
      if (one->subscriber != subscriber) return false;
      owner |= one->owner;
      return true;
    });
    const bool back = std::any_of(job->subscriptions.begin(), job->subscriptions.end(),
                                  [](const std::shared_ptr<Subscription>& one) { return one->owner; });
    lost(*job, owner && !back);
  }
  known_.NotifyAll();
  return subscriber;
}

void Observers::WaitUntilQuiet(Subscriber& subscriber) {
  mutex_.AssertHeld();
  const auto own = static_cast<std::size_t>(
      std::count(subscriber.callers.begin(), subscriber.callers.end(), std::this_thread::get_id()));
  subscriber.callers_waiting += own;
  if (own > 0) left_.NotifyAll();  // others may wait for this thread's calls
  while (subscriber.callers.size() > subscriber.callers_waiting) left_.Wait(mutex_);
  subscriber.callers_waiting -= own;
}

void Observers::Enter(Subscriber& subscriber) { subscriber.callers.push_back(std::this_thread::get_id()); }

void Observers::Leave(Subscriber& subscriber) {
  const auto at = std::find(subscriber.callers.begin(), subscriber.callers.end(), std::this_thread::get_id());
  *at = subscriber.callers.back();
  subscriber.callers.pop_back();
  if (subscriber.closed.load(std::memory_order_relaxed)) left_.NotifyAll();
}

void Observers::Remove(Job& job, const std::shared_ptr<Subscription>& subscription) {
  Subscriber& subscriber = *subscription->subscriber;
  std::erase(job.subscriptions, subscription);
  const bool another = std::any_of(job.subscriptions.begin(), job.subscriptions.end(),
                                   [&](const auto& one) { return one->subscriber == subscription->subscriber; });
  if (!another) subscriber.jobs.erase(&job);
  known_.NotifyAll();
  if (subscriber.jobs.empty() && !subscriber.stays) subscribers_.erase(subscriber.observer.get());
}

bool Observers::KnowAll() const {
  mutex_.AssertHeld();
  for (const auto& [observer, subscriber] : subscribers_) {
    for (const Job* job : subscriber->jobs) {
      if (job->record().end != nullptr) return false;
    }
  }
  return true;
}

bool Observers::Tell(Job& job) {
  bool told_owner = false;
  // An observer's end may call the engine: the last reference goes after the lock.
  absl::InlinedVector<std::shared_ptr<Subscription>, 2> told;
  MutexLock lock(mutex_);
  while (true) {
    const auto at = std::find_if(job.subscriptions.begin(), job.subscriptions.end(),
                                 [&](const auto& one) { return !one->telling && one->next < job.change_count(); });
    if (at == job.subscriptions.end()) return told_owner;
    const std::shared_ptr<Subscription>& subscription = told.emplace_back(*at);
    Subscriber& subscriber = *subscription->subscriber;
    const unsigned last = job.change_count();
    const std::shared_ptr<const JobEnd> end = job.record().end;
    subscription->telling = true;
    Enter(subscriber);
    lock.Unlock();

    const bool only_end = end != nullptr && !subscriber.observer->WantsStatesBeforeEnd();
    for (unsigned i = only_end ? last - 1 : subscription->next; i < last && !subscriber.closed.load(); ++i) {
      subscriber.observer->OnChange(job.id, subscription->tag, job.change(i), i + 1 == last ? end : NoEnd());
    }
    if (!subscriber.closed.load()) subscriber.observer->OnFlush();

    lock.Lock();
    Leave(subscriber);
    subscription->next = last;
    subscription->telling = false;
    if (end == nullptr || subscriber.closed.load(std::memory_order_relaxed)) continue;
    told_owner |= subscription->owner;
    Remove(job, subscription);
  }
}

bool Observers::TellProgress(Job& job, const JobProgress& progress) {
  absl::InlinedVector<std::shared_ptr<Subscription>, 2> told;
  MutexLock lock(mutex_);
  // Only those who know that the job runs, and not that it ended.
  for (const std::shared_ptr<Subscription>& one : job.subscriptions) {
    if (!one->telling && one->next == job.change_count() && job.record().end == nullptr) told.push_back(one);
  }
  for (const std::shared_ptr<Subscription>& one : told) {
    Subscriber& subscriber = *one->subscriber;
    if (one->telling || subscriber.closed.load() || one->next != job.change_count() || job.record().end != nullptr)
      continue;
    one->telling = true;
    Enter(subscriber);
    lock.Unlock();
    subscriber.observer->OnProgress(job.id, one->tag, progress);
    if (!subscriber.closed.load()) subscriber.observer->OnFlush();
    lock.Lock();
    Leave(subscriber);
    one->telling = false;
  }
  lock.Unlock();
  return Tell(job);  // what came meanwhile
}

void Observers::TellAll(const std::string& notice, std::optional<double> seconds_left) {
  Subscribers all;
  {
    MutexLock lock(mutex_);
    for (const auto& [observer, subscriber] : subscribers_) all.push_back(subscriber);
  }
  TellEach(all, notice, seconds_left);
}

void Observers::TellWatchers(const Job& job, const std::string& notice) {
  Subscribers watchers;
  {
    MutexLock lock(mutex_);
    if (job.record().end != nullptr) return;
    for (const std::shared_ptr<Subscription>& one : job.subscriptions) {
      if (std::find(watchers.begin(), watchers.end(), one->subscriber) == watchers.end())
        watchers.push_back(one->subscriber);
    }
  }
  TellEach(watchers, notice, std::nullopt);
}

void Observers::TellEach(const Subscribers& whom, const std::string& notice, std::optional<double> seconds_left) {
  MutexLock lock(mutex_);
  for (const std::shared_ptr<Subscriber>& subscriber : whom) {
    if (subscriber->closed.load()) continue;
    Enter(*subscriber);
    lock.Unlock();
    subscriber->observer->OnNotice(notice, seconds_left);
    if (!subscriber->closed.load()) subscriber->observer->OnFlush();
    lock.Lock();
    Leave(*subscriber);
  }
}

bool Observers::AnyUnsent() {
  Subscribers all;
  MutexLock lock(mutex_);
  for (const auto& [observer, subscriber] : subscribers_) all.push_back(subscriber);
  for (const std::shared_ptr<Subscriber>& subscriber : all) {
    if (subscriber->closed.load()) continue;
    Enter(*subscriber);
    lock.Unlock();
    const bool unsent = subscriber->observer->HasUnsent();
    lock.Lock();
    Leave(*subscriber);
    if (!unsent) continue;
    lock.Unlock();  // the last references go after it
    return true;
  }
  lock.Unlock();
  return false;
}

}  // namespace hotplate::core
