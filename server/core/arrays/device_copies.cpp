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

// What goes to a device at a time: long enough that its start does not count, unless it is the end of an array.
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
    copies->workers_.back()->free_bytes = device->FreeBytes();
  }
  if (copies->workers_.empty()) return nullptr;
  for (const std::unique_ptr<Worker>& worker : copies->workers_) {
    worker->thread = std::thread([plain = copies.get(), &one = *worker] { plain->Run(one); });
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
    for (const std::unique_ptr<Worker>& worker : workers_) {
      std::move(worker->wanted.begin(), worker->wanted.end(), std::back_inserter(wanted));
      std::move(worker->forgotten.begin(), worker->forgotten.end(), std::back_inserter(forgotten));
      worker->wanted.clear();
      worker->forgotten.clear();
    }
  }
  for (const Wanted& one : wanted) {
    for (const Done& done : one.done) done(Closed());
  }
}

void DeviceCopies::Written(const std::shared_ptr<const HostBuffer>& buffer, std::uint64_t before,
                           std::uint64_t written) {
  const std::uint64_t identity = buffer->identity();
  MutexLock lock(mutex_);
  if (closed_) return;
  if (before == 0) {
    Worker& worker = Choose(buffer->size());
    if (worker.uploads.size() < kMostUploads) worker.uploads.push_back({identity, buffer, buffer->size(), 0, 0});
  }
  for (const std::unique_ptr<Worker>& worker : workers_) {
    Upload* const upload = Find(*worker, identity);
    if (upload == nullptr) continue;
    upload->written = written;
    if (written - upload->sent > kMostBehind) {
      std::erase_if(worker->uploads, [&](const Upload& one) { return one.identity == identity; });
    } else if (Next(*worker) != nullptr) {
      worker->wake.NotifyOne();
    }
  }
}

void DeviceCopies::Stayed(const HostBuffer& buffer, const std::string& device) {
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Worker>& worker : workers_) {
    if (worker->device->info().id == device) places_[buffer.identity()] = {worker.get(), ""};
  }
}

absl::Status DeviceCopies::LossAt(const Place& place) const {
  if (place.why_lost.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("it is lost: its only copy was on ", place.worker->device->info().id,
                                          ", which was lost: ", place.why_lost, "; make it again"));
}

void DeviceCopies::Fetch(std::shared_ptr<const HostBuffer> buffer, Done done) {
  absl::Status status;
  if (buffer->absent()) {
    MutexLock lock(mutex_);
    const auto at = places_.find(buffer->identity());
    if (closed_) {
      status = Closed();
    } else if (at == places_.end()) {
      status = absl::InternalError("it lies on no device that is known");
    } else if (status = LossAt(at->second); status.ok()) {
      Worker& worker = *at->second.worker;
      const auto same = std::find_if(worker.wanted.begin(), worker.wanted.end(),
                                     [&](const Wanted& one) { return one.buffer == buffer; });
      if (same != worker.wanted.end()) {
        same->done.push_back(std::move(done));
      } else {
        worker.wanted.push_back({std::move(buffer), {std::move(done)}});
        worker.wake.NotifyOne();
      }
      return;
    }
  }
  done(status);
}

absl::Status DeviceCopies::Fetch(std::shared_ptr<const HostBuffer> buffer) {
  std::promise<absl::Status> fetched;
  Fetch(std::move(buffer), [&fetched](const absl::Status& status) { fetched.set_value(status); });
  return fetched.get_future().get();
}

void DeviceCopies::Forget(std::shared_ptr<HostBuffer> buffer) {
  const std::uint64_t identity = buffer->identity();
  if (!buffer->absent()) buffer = nullptr;  // before the lock: no device writes to it, and to free it may take long
  MutexLock lock(mutex_);
  places_.erase(identity);
  if (closed_) return;
  for (const std::unique_ptr<Worker>& worker : workers_) {
    std::erase_if(worker->uploads, [&](const Upload& one) { return one.identity == identity; });
    worker->forgotten.push_back({identity, buffer});
    worker->wake.NotifyOne();
  }
}

void DeviceCopies::Lose(const std::string& device, const std::string& why) {
  MutexLock lock(mutex_);
  for (auto& [identity, place] : places_) {
    if (place.worker->device->info().id == device && place.why_lost.empty()) place.why_lost = why;
  }
}

std::string DeviceCopies::DeviceOf(const HostBuffer& buffer) const {
  if (!buffer.absent()) return "";
  MutexLock lock(mutex_);
  const auto at = places_.find(buffer.identity());
  return at == places_.end() ? "" : at->second.worker->device->info().id;
}

absl::Status DeviceCopies::LossOf(const HostBuffer& buffer) const {
  if (!buffer.absent()) return absl::OkStatus();
  MutexLock lock(mutex_);
  const auto at = places_.find(buffer.identity());
  return at == places_.end() ? absl::OkStatus() : LossAt(at->second);
}

DeviceCopies::Upload* DeviceCopies::Find(Worker& worker, std::uint64_t identity) {
  for (Upload& upload : worker.uploads) {
    if (upload.identity == identity) return &upload;
  }
  return nullptr;
}

DeviceCopies::Upload* DeviceCopies::Next(Worker& worker) {
  for (Upload& upload : worker.uploads) {
    if (upload.written - upload.sent >= kLeastPiece || upload.written == upload.total) return &upload;
  }
  return nullptr;
}

// Not simply the one with the most room: copies that nobody uses count as room, and all would go to one device.
DeviceCopies::Worker& DeviceCopies::Choose(std::uint64_t bytes) {
  Worker* best = nullptr;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& one = *workers_[(turn_ + i) % workers_.size()];
    if (one.free_bytes >= bytes) {
      turn_ += i + 1;
      return one;
    }
    if (best == nullptr || one.free_bytes > best->free_bytes) best = &one;
  }
  return *best;
}

void DeviceCopies::Run(Worker& worker) {
  Device& device = *worker.device;
  MutexLock lock(mutex_);
  while (true) {
    while (!closed_ && worker.wanted.empty() && worker.forgotten.empty() && Next(worker) == nullptr) {
      worker.wake.Wait(mutex_);
    }
    if (closed_) return;
    if (!worker.wanted.empty()) FetchNext(worker);
    std::vector<Forgotten> forgotten = std::exchange(worker.forgotten, {});
    Upload piece;
    std::uint64_t bytes = 0;
    if (const Upload* const next = Next(worker); next != nullptr) {
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
    worker.free_bytes = free_bytes;
    Upload* const upload = Find(worker, piece.identity);
    if (upload == nullptr) continue;  // forgotten meanwhile
    upload->sent += bytes;
    if (!wanted || upload->sent == upload->total) {
      std::erase_if(worker.uploads, [&](const Upload& one) { return one.identity == piece.identity; });
    }
  }
}

void DeviceCopies::FetchNext(Worker& worker) {
  const std::shared_ptr<const HostBuffer> buffer = worker.wanted.front().buffer;
  mutex_.Unlock();
  const Outcome fetched = worker.device->Fetch(buffer->identity());
  mutex_.Lock();
  absl::Status status;
  if (const auto at = places_.find(buffer->identity()); buffer->absent() && at != places_.end()) {
    // Told by the copy before a job, or the sampler, has noticed.
    if (fetched.code() == HOTPLATE_DEVICE_LOST) at->second.why_lost = std::string(fetched.message());
    status = LossAt(at->second);
    if (status.ok()) {
      status = absl::InternalError(absl::StrCat("it could not be copied from ", worker.device->info().id, ": ",
                                                fetched.ok() ? "it is not there" : ToAbsl(fetched.message())));
    }
  }
  // Whoever came meanwhile is among them.
  const Wanted wanted = std::move(worker.wanted.front());
  worker.wanted.erase(worker.wanted.begin());
  mutex_.Unlock();
  for (const Done& done : wanted.done) done(status);
  mutex_.Lock();
}

}  // namespace hotplate::core
