// Objects that functions have left in their workers for later calls. To its client such an object is an array of its
// session's, of one byte, so that it is owned, counted, freed and kept from others as arrays are. When the memory of
// that array goes, its worker is to let go of the object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/array/host_buffer.h"
#include "kernels/base/mutex.h"
#include "server/core/types.h"
#include "server/workers/call_message.h"
#include "server/workers/function_table.h"

namespace hotplate::server {

// A worker as whoever has something in it knows it; outlives the worker.
struct WorkerFacts {
  std::uint64_t id = 0;  // never 0, and never used twice
  pid_t pid = 0;
  std::string device;
  std::shared_ptr<const FunctionEnvironment> environment;
  std::uint32_t cpus = 1;  // the processor's threads that it computes with
};

struct FoundRef {
  std::shared_ptr<const WorkerFacts> worker;
  CallRef object;
  core::SessionId session;
  std::string lost;  // why its worker is gone; empty: it is there

  std::string words() const;  // "Model in worker 4711 on cpu0"
};

// Thread-safe.
class RefTable {
 public:
  RefTable() : state_(std::make_shared<State>()) {}

  // The buffer, memory of an array of this session's, from now on means this object, until it goes; the object may be
  // meant by others too.
  std::shared_ptr<HostBuffer> Add(const std::shared_ptr<const WorkerFacts>& worker, const CallRef& object,
                                  const core::SessionId& session, std::shared_ptr<HostBuffer> buffer);
  // None: its buffer is a plain array's.
  std::optional<FoundRef> Find(const HostBuffer& buffer) const;
  // The objects of a worker that somebody has.
  std::size_t Count(std::uint64_t worker) const;
  // The worker is gone.
  void Lose(std::uint64_t worker, const std::string& why);

  // What the worker is to let go of since it was asked last.
  std::vector<std::uint64_t> TakeFreed(std::uint64_t worker);
  // Waits until some worker has something to let go of, but no longer than that. False: Close was called.
  bool AwaitFreed(std::optional<std::chrono::milliseconds> at_most);
  void Close();

 private:
  struct Objects {
    std::unordered_map<std::uint64_t, std::uint32_t> uses;  // by their numbers
    std::vector<std::uint64_t> freed;
  };
  // Arrays may outlive the table.
  struct State {
    Mutex mutex;
    CondVar changed;
    std::unordered_map<const HostBuffer*, FoundRef> refs ABSL_GUARDED_BY(mutex);
    std::map<std::uint64_t, Objects> workers ABSL_GUARDED_BY(mutex);  // those that have something, or have to let go
    bool any_freed ABSL_GUARDED_BY(mutex) = false;
    bool closed ABSL_GUARDED_BY(mutex) = false;

    void Forget(const HostBuffer& buffer);
  };

  const std::shared_ptr<State> state_;
};

}  // namespace hotplate::server
