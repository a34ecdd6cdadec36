// Tells devices that have memory of their own about the stored arrays: an upload begins to copy to a device before its
// last byte came, an array that lies on a device alone comes to the host when it is wanted there, or to another device
// whose task wants it, and when an array is gone every device hears that it need not keep it. The devices are the ones
// to hold arrays and to drop them; what is here is only whom to tell, and on a thread where a device may take its time:
// nobody who writes or frees an array waits for one. Where bytes lie, and why: kernels/devices/device.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/array/host_buffer.h"
#include "kernels/base/mutex.h"
#include "kernels/devices/device.h"

namespace hotplate::core {

// Thread-safe.
class DeviceCopies {
 public:
  // Null if every device uses the host's memory: then nobody is told of anything. The devices must live until Close.
  static std::shared_ptr<DeviceCopies> Of(const std::vector<std::unique_ptr<Device>>& devices);
  ~DeviceCopies();
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  // For a new array's buffer; of the whole process, and never 0.
  static std::uint64_t NewIdentity();

  // The array that is being written has grown from `before` to `written` bytes, in order. One device gets it ahead of
  // the tasks: each that has room for it in turn, else the one with the most room. Whoever falls far behind gets no
  // more of it.
  void Written(const std::shared_ptr<const HostBuffer>& buffer, std::uint64_t before, std::uint64_t written);
  // The bytes of an absent buffer: a task of this device has left them there.
  void Stayed(const HostBuffer& buffer, const std::string& device);
  // Calls `done` when the buffer's bytes are on the host: at once, or on a device's thread. Else with the reason:
  // NOT_FOUND, the only device that had them is lost; UNAVAILABLE, the daemon ends. However many ask at the same time,
  // the bytes are copied once.
  using Done = std::function<void(const absl::Status&)>;
  void Fetch(std::shared_ptr<const HostBuffer> buffer, Done done);
  // The same, and waits.
  absl::Status Fetch(std::shared_ptr<const HostBuffer> buffer);
  // A task relies on a buffer's bytes being on a device, or on the host: while this lives, they are not taken away.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : copies_(std::exchange(other.copies_, nullptr)), identity_(std::exchange(other.identity_, 0)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(copies_, other.copies_);
      std::swap(identity_, other.identity_);
      return *this;
    }
    ~Hold() {
      if (copies_ != nullptr) copies_->LetGo(identity_);
    }

   private:
    friend class DeviceCopies;
    Hold(DeviceCopies& copies, std::uint64_t identity) : copies_(&copies), identity_(identity) {}
    DeviceCopies* copies_ = nullptr;
    std::uint64_t identity_ = 0;
  };
  // For a task of this device, which finds the buffer's bytes there or on the host: where they lie on another device
  // alone, this one takes them over, if it can and no task there relies on them; else they come to the host. Waits.
  // Errors as Fetch.
  absl::StatusOr<Hold> Bring(std::shared_ptr<const HostBuffer> buffer, const std::string& device);
  // The end of a buffer, by whoever held it last. The memory of an absent one goes when no device can write to it.
  void Forget(std::shared_ptr<HostBuffer> buffer);
  // The device is lost, and with it what it alone had, also when it comes back.
  void Lose(const std::string& device, const std::string& why);
  // The device that has, or had, the only bytes of an absent buffer; empty if none does.
  std::string DeviceOf(const HostBuffer& buffer) const;
  // Why the buffer's bytes are lost; empty if they are not.
  std::string WhyLost(const HostBuffer& buffer) const;
  // OK, or the error of Fetch for a buffer whose bytes are lost.
  absl::Status LossOf(const HostBuffer& buffer) const;
  // The devices are about to go, and their memory with them. Waits for calls that are inside them.
  void Close();

 private:
  struct Upload {
    std::uint64_t identity = 0;
    // Shared while a piece is read: what nobody else holds any more need not be copied.
    std::weak_ptr<const HostBuffer> buffer;
    std::uint64_t total = 0, written = 0, sent = 0;
  };
  static constexpr std::size_t kHost = static_cast<std::size_t>(-1);
  struct Waiter {
    Done done;
    bool* held = nullptr;  // set before `done` is called, if it has a hold now
  };
  // A buffer that is wanted on the host, or by a worker's device, with those that want it.
  struct Wanted {
    std::shared_ptr<const HostBuffer> buffer;
    std::size_t to = kHost;
    std::vector<Waiter> waiters;
  };
  struct Forgotten {
    std::uint64_t identity = 0;
    std::shared_ptr<HostBuffer> memory;  // where the device may write until it has forgotten it; else null
  };
  struct Worker {
    Device* device = nullptr;
    std::thread thread;
    CondVar wake;
  };
  // A worker's, at its place in workers_.
  struct Backlog {
    std::vector<Upload> uploads;
    std::vector<Wanted> wanted;  // the first is being fetched
    std::vector<Forgotten> forgotten;
    std::uint64_t free_bytes = 0;  // as the device last said
  };

  // Where an array stayed.
  struct Place {
    std::size_t worker = 0;
    std::string why_lost = {};  // empty: it is not
    int holds = 0;              // tasks that rely on it
    bool leaving = false;       // another device is taking it over
  };

  DeviceCopies() = default;
  void Run(std::size_t worker);
  // Serves the first of the wanted, without the lock meanwhile.
  void ServeNext(std::size_t worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True: the buffer's bytes are on that other worker's device now.
  bool HandOver(std::size_t worker, std::size_t to, const HostBuffer& buffer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The waiter is told when the buffer is there.
  void Want(std::size_t worker, std::shared_ptr<const HostBuffer> buffer, std::size_t to, Waiter waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK, or why nothing can be wanted of the buffer.
  absl::Status Wantable(const HostBuffer& buffer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::size_t WorkerOf(const std::string& device) const;  // kHost: it has no memory of its own
  void LetGo(std::uint64_t identity);
  const std::string& IdOf(std::size_t worker) const { return workers_[worker]->device->info().id; }
  std::string WhyLost(const Place& place) const;
  absl::Status LossAt(const Place& place) const;
  static Upload* Find(Backlog& backlog, std::uint64_t identity);
  static Upload* Next(Backlog& backlog);
  // A worker's place.
  std::size_t Choose(std::uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::vector<std::unique_ptr<Worker>> workers_;  // one for each device with memory of its own
  mutable Mutex mutex_;
  std::vector<Backlog> backlogs_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Place> places_ ABSL_GUARDED_BY(mutex_);  // by identity
  std::size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotplate::core
