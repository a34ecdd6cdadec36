// Tells devices that have memory of their own about the stored arrays: an upload begins to copy to a device before its
// last byte came, and when an array is gone every device hears that it need not keep its copy. The devices are the
// ones to hold copies and to drop them; what is here is only whom to tell, and on a thread where a device may take its
// time: nobody who writes or frees an array waits for one.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/array/host_buffer.h"
#include "kernels/base/mutex.h"
#include "kernels/devices/device.h"

namespace hotplate::core {

// Thread-safe.
class DeviceCopies {
 public:
  // Null if every device uses the host's memory: then arrays have no identity, and nobody is told of anything. The
  // devices must live until Close.
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
  // The end of a buffer, by whoever held it last.
  void Forget(std::uint64_t identity);
  // The devices are about to go, and their memory with them. Waits for calls that are inside them.
  void Close();

 private:
  struct Upload {
    std::uint64_t identity = 0;
    // Shared while a piece is read: what nobody else holds any more need not be copied.
    std::weak_ptr<const HostBuffer> buffer;
    std::uint64_t total = 0, written = 0, sent = 0;
  };
  struct Worker {
    Device* device = nullptr;
    std::thread thread;
    CondVar wake;
  };
  // A worker's, at its place in workers_.
  struct Backlog {
    std::vector<Upload> uploads;
    std::vector<std::uint64_t> forgotten;
    std::uint64_t free_bytes = 0;  // as the device last said
  };

  DeviceCopies() = default;
  void Run(std::size_t worker);
  static Upload* Find(Backlog& backlog, std::uint64_t identity);
  static Upload* Next(Backlog& backlog);
  // A worker's place.
  std::size_t Choose(std::uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::vector<std::unique_ptr<Worker>> workers_;  // one for each device with memory of its own
  Mutex mutex_;
  std::vector<Backlog> backlogs_ ABSL_GUARDED_BY(mutex_);
  std::size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotplate::core
