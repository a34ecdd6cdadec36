#include "server/core/arrays/device_copies.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace hotplate::core {
namespace {

// The bytes copied to a device at a time: enough that starting a copy costs little. An array's last piece may be less.
constexpr std::uint64_t kLeastPiece = std::uint64_t{1} << 20, kMostPiece = std::uint64_t{4} << 20;

// A device that is behind by more is slower than the network: then the job's own copy does as well.
constexpr std::uint64_t kMostBehind = std::uint64_t{64} << 20;
constexpr std::size_t kMostUploads = 64;  // of a device at a time

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

void DeviceCopies::Forget(std::uint64_t identity) {
  MutexLock lock(mutex_);
  if (closed_) return;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    std::erase_if(backlogs_[i].uploads, [&](const Upload& one) { return one.identity == identity; });
    backlogs_[i].forgotten.push_back(identity);
    workers_[i]->wake.NotifyOne();
  }
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
    while (!closed_ && backlogs_[worker].forgotten.empty() && Next(backlogs_[worker]) == nullptr) {
      workers_[worker]->wake.Wait(mutex_);
    }
    if (closed_) return;
    const std::vector<std::uint64_t> forgotten = std::exchange(backlogs_[worker].forgotten, {});
    Upload piece;
    std::uint64_t bytes = 0;
    if (const Upload* const next = Next(backlogs_[worker]); next != nullptr) {
      piece = *next;
      bytes = std::min(piece.written - piece.sent, kMostPiece);
    }
    lock.Unlock();

    for (const std::uint64_t identity : forgotten) device.Forget(identity);
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

}  // namespace hotplate::core
