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

void Observers::Stay(std::shared_ptr<JobObserver> observer) { SubscriberOf(std::move(observer))->stays = true; }

void Observers::Add(Job& job, std::shared_ptr<JobObserver> observer, std::uint64_t tag, unsigned next, bool owner) {
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
  known_.notify_all();
  return subscriber;
}

void Observers::WaitUntilQuiet(std::unique_lock<std::mutex>& lock, Subscriber& subscriber) {
  const auto own = static_cast<std::size_t>(
      std::count(subscriber.callers.begin(), subscriber.callers.end(), std::this_thread::get_id()));
  subscriber.callers_waiting += own;
  if (own > 0) left_.notify_all();  // others may wait for this thread's calls
  left_.wait(lock, [&] { return subscriber.callers.size() <= subscriber.callers_waiting; });
  subscriber.callers_waiting -= own;
}

void Observers::Enter(Subscriber& subscriber) { subscriber.callers.push_back(std::this_thread::get_id()); }

void Observers::Leave(Subscriber& subscriber) {
  const auto at = std::find(subscriber.callers.begin(), subscriber.callers.end(), std::this_thread::get_id());
  *at = subscriber.callers.back();
  subscriber.callers.pop_back();
  if (subscriber.closed.load(std::memory_order_relaxed)) left_.notify_all();
}

void Observers::Remove(Job& job, const std::shared_ptr<Subscription>& subscription) {
  Subscriber& subscriber = *subscription->subscriber;
  std::erase(job.subscriptions, subscription);
  const bool another = std::any_of(job.subscriptions.begin(), job.subscriptions.end(),
                                   [&](const auto& one) { return one->subscriber == subscription->subscriber; });
  if (!another) subscriber.jobs.erase(&job);
  known_.notify_all();
  if (subscriber.jobs.empty() && !subscriber.stays) subscribers_.erase(subscriber.observer.get());
}

bool Observers::KnowAll() const {
  for (const auto& [observer, subscriber] : subscribers_) {
    for (const Job* job : subscriber->jobs) {
      if (job->end != nullptr) return false;
    }
  }
  return true;
}

bool Observers::Tell(Job& job) {
  bool told_owner = false;
  // An observer's end may call the engine: the last reference goes after the lock.
  absl::InlinedVector<std::shared_ptr<Subscription>, 2> told;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto at = std::find_if(job.subscriptions.begin(), job.subscriptions.end(),
                                 [&](const auto& one) { return !one->telling && one->next < job.event_count; });
    if (at == job.subscriptions.end()) return told_owner;
    const std::shared_ptr<Subscription>& subscription = told.emplace_back(*at);
    Subscriber& subscriber = *subscription->subscriber;
    const unsigned last = job.event_count;
    const std::shared_ptr<const JobEnd> end = job.end;
    subscription->telling = true;
    Enter(subscriber);
    lock.unlock();

    const bool only_end = end != nullptr && !subscriber.observer->WantsStatesBeforeEnd();
    for (unsigned i = only_end ? last - 1 : subscription->next; i < last && !subscriber.closed.load(); ++i) {
      subscriber.observer->OnEvent(job.id, subscription->tag, job.events[i], i + 1 == last ? end : NoEnd());
    }
    if (!subscriber.closed.load()) subscriber.observer->OnFlush();

    lock.lock();
    Leave(subscriber);
    subscription->next = last;
    subscription->telling = false;
    if (end == nullptr || subscriber.closed.load(std::memory_order_relaxed)) continue;
    told_owner |= subscription->owner;
    Remove(job, subscription);
  }
}

bool Observers::TellProgress(Job& job, double fraction) {
  absl::InlinedVector<std::shared_ptr<Subscription>, 2> told;
  std::unique_lock lock(mutex_);
  // Only those who know that the job runs, and not that it ended.
  for (const std::shared_ptr<Subscription>& one : job.subscriptions) {
    if (!one->telling && one->next == job.event_count && job.end == nullptr) told.push_back(one);
  }
  for (const std::shared_ptr<Subscription>& one : told) {
    Subscriber& subscriber = *one->subscriber;
    if (one->telling || subscriber.closed.load() || one->next != job.event_count || job.end != nullptr) continue;
    one->telling = true;
    Enter(subscriber);
    lock.unlock();
    subscriber.observer->OnProgress(job.id, one->tag, fraction);
    if (!subscriber.closed.load()) subscriber.observer->OnFlush();
    lock.lock();
    Leave(subscriber);
    one->telling = false;
  }
  lock.unlock();
  return Tell(job);  // what came meanwhile
}

void Observers::TellAll(const std::string& notice, std::optional<double> seconds_left) {
  Subscribers all;
  std::unique_lock lock(mutex_);
  for (const auto& [observer, subscriber] : subscribers_) all.push_back(subscriber);
  TellEach(lock, all, notice, seconds_left);
}

void Observers::TellWatchers(const Job& job, const std::string& notice) {
  Subscribers watchers;
  std::unique_lock lock(mutex_);
  if (job.end != nullptr) return;
  for (const std::shared_ptr<Subscription>& one : job.subscriptions) {
    if (std::find(watchers.begin(), watchers.end(), one->subscriber) == watchers.end())
      watchers.push_back(one->subscriber);
  }
  TellEach(lock, watchers, notice, std::nullopt);
}

void Observers::TellEach(std::unique_lock<std::mutex>& lock, const Subscribers& whom, const std::string& notice,
                         std::optional<double> seconds_left) {
  for (const std::shared_ptr<Subscriber>& subscriber : whom) {
    if (subscriber->closed.load()) continue;
    Enter(*subscriber);
    lock.unlock();
    subscriber->observer->OnNotice(notice, seconds_left);
    if (!subscriber->closed.load()) subscriber->observer->OnFlush();
    lock.lock();
    Leave(*subscriber);
  }
}

bool Observers::AnyUnsent() {
  Subscribers all;
  std::unique_lock lock(mutex_);
  for (const auto& [observer, subscriber] : subscribers_) all.push_back(subscriber);
  for (const std::shared_ptr<Subscriber>& subscriber : all) {
    if (subscriber->closed.load()) continue;
    Enter(*subscriber);
    lock.unlock();
    const bool unsent = subscriber->observer->HasUnsent();
    lock.lock();
    Leave(*subscriber);
    if (!unsent) continue;
    lock.unlock();
    return true;
  }
  lock.unlock();
  return false;
}

}  // namespace hotplate::core
