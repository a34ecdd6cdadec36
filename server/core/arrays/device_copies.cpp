#include "server/core/arrays/device_copies.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"

namespace hotplate::core {
namespace {

// The bytes copied to a device at a time: enough that starting a copy costs little. An array's last piece may be less.
constexpr std::uint64_t kLeastPiece = std::uint64_t{1} << 20, kMostPiece = std::uint64_t{4} << 20;

// A device that is behind by more is slower than the network: then the job's own copy does as well.
constexpr std::uint64_t kMostBehind = std::uint64_t{64} << 20;
constexpr std::size_t kMostUploads = 64;  // of a device at a time

absl::Status Closed() { return absl::UnavailableError("it lies on a device, and the daemon ends"); }

}  // namespace

std::uint64_t DeviceCopies::NewIdentity() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_ptr<DeviceCopies> DeviceCopies::Of(const std::vector<std::unique_ptr<Device>>& devices) {
  std::shared_ptr<DeviceCopies> copies(new DeviceCopies);
  for (const std::unique_ptr<Device>& device : devices) {
    if (device->info().host_memory) continue;
    copies->workers_.push_back(std::make_unique<Worker>());
    copies->workers_.back()->device = device.get();
    const std::uint64_t free_bytes = device->FreeBytes();
    const MutexLock lock(copies->mutex_);
    copies->backlogs_.emplace_back().free_bytes = free_bytes;
  }
  if (copies->workers_.empty()) return nullptr;
  for (std::size_t i = 0; i < copies->workers_.size(); ++i) {
    copies->workers_[i]->thread = std::thread([plain = copies.get(), i] { plain->Run(i); });
  }
  return copies;
}

DeviceCopies::~DeviceCopies() { Close(); }

void DeviceCopies::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    for (const std::unique_ptr<Worker>& worker : workers_) worker->wake.NotifyAll();
  }
  for (const std::unique_ptr<Worker>& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
  std::vector<Wanted> wanted;
  std::vector<Forgotten> forgotten;
  {
    MutexLock lock(mutex_);
    for (Backlog& backlog : backlogs_) {
      std::move(backlog.wanted.begin(), backlog.wanted.end(), std::back_inserter(wanted));
      std::move(backlog.forgotten.begin(), backlog.forgotten.end(), std::back_inserter(forgotten));
      backlog.wanted.clear();
      backlog.forgotten.clear();
    }
  }
  for (const Wanted& one : wanted) {
    for (const Waiter& waiter : one.waiters) waiter.done(Closed());
  }
}

void DeviceCopies::Written(const std::shared_ptr<const HostBuffer>& buffer, std::uint64_t before,
                           std::uint64_t written) {
  const std::uint64_t identity = buffer->identity();
  MutexLock lock(mutex_);
  if (closed_) return;
  if (before == 0) {
    Backlog& chosen = backlogs_[Choose(buffer->size())];
    if (chosen.uploads.size() < kMostUploads) chosen.uploads.push_back({identity, buffer, buffer->size(), 0, 0});
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Upload* const upload = Find(backlogs_[i], identity);
    if (upload == nullptr) continue;
    upload->written = written;
    if (written - upload->sent > kMostBehind) {
      std::erase_if(backlogs_[i].uploads, [&](const Upload& one) { return one.identity == identity; });
    } else if (Next(backlogs_[i]) != nullptr) {
      workers_[i]->wake.NotifyOne();
    }
  }
}

void DeviceCopies::Stayed(const HostBuffer& buffer, const std::string& device) {
  MutexLock lock(mutex_);
  if (const std::size_t worker = WorkerOf(device); worker != kHost) places_[buffer.identity()] = {.worker = worker};
}

std::string DeviceCopies::WhyLost(const Place& place) const {
  if (place.why_lost.empty()) return "";
  return absl::StrCat("the only copy was on ", IdOf(place.worker), ", which was lost: ", place.why_lost);
}

absl::Status DeviceCopies::LossAt(const Place& place) const {
  if (place.why_lost.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("it is lost: ", WhyLost(place), "; make it again"));
}

absl::Status DeviceCopies::Wantable(const HostBuffer& buffer) const {
  if (closed_) return Closed();
  const auto at = places_.find(buffer.identity());
  if (at == places_.end()) return absl::InternalError("it lies on no device that is known");
  return LossAt(at->second);
}

void DeviceCopies::Want(std::size_t worker, std::shared_ptr<const HostBuffer> buffer, std::size_t to, Waiter waiter) {
  std::vector<Wanted>& wanted = backlogs_[worker].wanted;
  const auto same = std::find_if(wanted.begin(), wanted.end(),
                                 [&](const Wanted& one) { return one.buffer == buffer && one.to == to; });
  if (same != wanted.end()) {
    same->waiters.push_back(std::move(waiter));
    return;
  }
  wanted.push_back({std::move(buffer), to, {std::move(waiter)}});
  workers_[worker]->wake.NotifyOne();
}

void DeviceCopies::Fetch(std::shared_ptr<const HostBuffer> buffer, Done done) {
  absl::Status status;
  if (buffer->absent()) {
    MutexLock lock(mutex_);
    status = Wantable(*buffer);
    if (status.ok()) {
      const std::size_t worker = places_.at(buffer->identity()).worker;
      return Want(worker, std::move(buffer), kHost, {std::move(done)});
    }
  }
  done(status);
}

absl::Status DeviceCopies::Fetch(std::shared_ptr<const HostBuffer> buffer) {
  std::promise<absl::Status> fetched;
  Fetch(std::move(buffer), [&fetched](const absl::Status& status) { fetched.set_value(status); });
  return fetched.get_future().get();
}

std::size_t DeviceCopies::WorkerOf(const std::string& device) const {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (IdOf(i) == device) return i;
  }
  return kHost;
}

absl::StatusOr<DeviceCopies::Hold> DeviceCopies::Bring(std::shared_ptr<const HostBuffer> buffer,
                                                       const std::string& device) {
  const std::size_t to = WorkerOf(device);
  std::promise<absl::Status> came;
  bool held = false;
  {
    MutexLock lock(mutex_);
    if (!buffer->absent()) return Hold();
    if (absl::Status status = Wantable(*buffer); !status.ok()) return status;
    Place& place = places_.at(buffer->identity());
    if (place.worker == to && !place.leaving) {
      ++place.holds;
      return Hold(*this, buffer->identity());
    }
    Want(place.worker, buffer, to, {[&came](const absl::Status& status) { came.set_value(status); }, &held});
  }
  if (absl::Status status = came.get_future().get(); !status.ok()) return status;
  return held ? Hold(*this, buffer->identity()) : Hold();
}

void DeviceCopies::LetGo(std::uint64_t identity) {
  MutexLock lock(mutex_);
  const auto at = places_.find(identity);
  if (at != places_.end()) --at->second.holds;
}

void DeviceCopies::Forget(std::shared_ptr<HostBuffer> buffer) {
  const std::uint64_t identity = buffer->identity();
  if (!buffer->absent()) buffer = nullptr;  // before the lock: no device writes to it, and to free it may take long
  MutexLock lock(mutex_);
  places_.erase(identity);
  if (closed_) return;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    std::erase_if(backlogs_[i].uploads, [&](const Upload& one) { return one.identity == identity; });
    backlogs_[i].forgotten.push_back({identity, buffer});
    workers_[i]->wake.NotifyOne();
  }
}

void DeviceCopies::Lose(const std::string& device, const std::string& why) {
  MutexLock lock(mutex_);
  for (auto& [identity, place] : places_) {
    if (IdOf(place.worker) == device && place.why_lost.empty()) place.why_lost = why;
  }
}

std::string DeviceCopies::DeviceOf(const HostBuffer& buffer) const {
  if (!buffer.absent()) return "";
  MutexLock lock(mutex_);
  const auto at = places_.find(buffer.identity());
  return at == places_.end() ? "" : IdOf(at->second.worker);
}

std::string DeviceCopies::WhyLost(const HostBuffer& buffer) const {
  if (!buffer.absent()) return "";
  MutexLock lock(mutex_);
  const auto at = places_.find(buffer.identity());
  return at == places_.end() ? "" : WhyLost(at->second);
}

absl::Status DeviceCopies::LossOf(const HostBuffer& buffer) const {
  if (!buffer.absent()) return absl::OkStatus();
  MutexLock lock(mutex_);
  const auto at = places_.find(buffer.identity());
  return at == places_.end() ? absl::OkStatus() : LossAt(at->second);
}

DeviceCopies::Upload* DeviceCopies::Find(Backlog& backlog, std::uint64_t identity) {
  for (Upload& upload : backlog.uploads) {
    if (upload.identity == identity) return &upload;
  }
  return nullptr;
}

DeviceCopies::Upload* DeviceCopies::Next(Backlog& backlog) {
  for (Upload& upload : backlog.uploads) {
    if (upload.written - upload.sent >= kLeastPiece || upload.written == upload.total) return &upload;
  }
  return nullptr;
}

// Not simply the one with the most room: copies that nobody uses count as room, and all would go to one device.
std::size_t DeviceCopies::Choose(std::uint64_t bytes) {
  std::size_t best = turn_ % backlogs_.size();
  for (std::size_t i = 0; i < backlogs_.size(); ++i) {
    const std::size_t one = (turn_ + i) % backlogs_.size();
    if (backlogs_[one].free_bytes >= bytes) {
      turn_ += i + 1;
      return one;
    }
    if (backlogs_[one].free_bytes > backlogs_[best].free_bytes) best = one;
  }
  return best;
}

void DeviceCopies::Run(std::size_t worker) {
  Device& device = *workers_[worker]->device;
  MutexLock lock(mutex_);
  while (true) {
    while (!closed_ && backlogs_[worker].wanted.empty() && backlogs_[worker].forgotten.empty() &&
           Next(backlogs_[worker]) == nullptr) {
      workers_[worker]->wake.Wait(mutex_);
    }
    if (closed_) return;
    if (!backlogs_[worker].wanted.empty()) ServeNext(worker);
    std::vector<Forgotten> forgotten = std::exchange(backlogs_[worker].forgotten, {});
    Upload piece;
    std::uint64_t bytes = 0;
    if (const Upload* const next = Next(backlogs_[worker]); next != nullptr) {
      piece = *next;
      bytes = std::min(piece.written - piece.sent, kMostPiece);
    }
    lock.Unlock();

    for (const Forgotten& one : forgotten) device.Forget(one.identity);
    forgotten.clear();
    bool wanted = false;
    if (const std::shared_ptr<const HostBuffer> buffer = piece.buffer.lock(); buffer != nullptr) {
      wanted = device.Upload(piece.identity, piece.total, piece.sent, buffer->bytes().subspan(piece.sent, bytes));
    }
    const std::uint64_t free_bytes = device.FreeBytes();

    lock.Lock();
    backlogs_[worker].free_bytes = free_bytes;
    Upload* const upload = Find(backlogs_[worker], piece.identity);
    if (upload == nullptr) continue;  // forgotten meanwhile
    upload->sent += bytes;
    if (!wanted || upload->sent == upload->total) {
      std::erase_if(backlogs_[worker].uploads, [&](const Upload& one) { return one.identity == piece.identity; });
    }
  }
}

bool DeviceCopies::HandOver(std::size_t worker, std::size_t to, const HostBuffer& buffer) {
  Place& place = places_.at(buffer.identity());
  if (to == kHost || to == worker || place.holds > 0) return false;
  place.leaving = true;
  Outcome taken = Outcome::Ok();
  {
    const MutexGap gap(mutex_);
    taken = workers_[to]->device->TakeFrom(*workers_[worker]->device, buffer.identity(), buffer.size());
  }
  // The buffer has a holder, so its place is still there.
  place.leaving = false;
  if (taken.ok()) place.worker = to;
  return taken.ok();
}

void DeviceCopies::ServeNext(std::size_t worker) {
  // Callers that come meanwhile for the same are told too.
  std::shared_ptr<const HostBuffer> buffer = backlogs_[worker].wanted.front().buffer;
  const std::size_t to = backlogs_[worker].wanted.front().to;
  const auto at = places_.find(buffer->identity());
  Place* const place = at == places_.end() ? nullptr : &at->second;  // stays as long as the buffer
  absl::Status status;
  if (buffer->absent() && place != nullptr && place->worker == worker && !HandOver(worker, to, *buffer)) {
    Outcome fetched = Outcome::Ok();
    {
      const MutexGap gap(mutex_);
      fetched = workers_[worker]->device->Fetch(buffer->identity());
    }
    if (buffer->absent()) {
      // The copy may be told before a job, or the sampler, has noticed. The reason that they gave is the better one.
      if (fetched.code() == HOTPLATE_DEVICE_LOST && place->why_lost.empty()) place->why_lost = fetched.message();
      status = LossAt(*place);
      if (status.ok()) {
        status = absl::InternalError(absl::StrCat("it could not be copied from ", IdOf(worker), ": ",
                                                  fetched.ok() ? "it is not there" : ToAbsl(fetched.message())));
      }
    }
  }
  Wanted wanted = std::move(backlogs_[worker].wanted.front());
  backlogs_[worker].wanted.erase(backlogs_[worker].wanted.begin());
  if (status.ok() && buffer->absent() && place != nullptr && place->worker != to) {  // another one took it over
    for (Waiter& waiter : wanted.waiters) Want(place->worker, buffer, to, std::move(waiter));
    return;
  }
  if (status.ok() && buffer->absent() && place != nullptr) {
    place->holds += static_cast<int>(wanted.waiters.size());
    for (const Waiter& waiter : wanted.waiters) *waiter.held = true;
  }
  const MutexGap gap(mutex_);
  for (const Waiter& waiter : wanted.waiters) waiter.done(status);
  // The buffer may have no other holder left, and its end takes the lock.
  wanted = {};
  buffer.reset();
}

}  // namespace hotplate::core
