// The Run streams that are open, for when there are too many: a client keeps one between its jobs, and may have no
// more.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/core/types.h"

namespace hotplate::server {

// A Run stream, as others see it. Thread-safe.
class OpenRunStream {
 public:
  virtual ~OpenRunStream() = default;
  virtual const core::SessionId& session() const = 0;
  // Nothing while it has a job.
  virtual std::optional<core::SteadyTime> IdleSince() = 0;
  // It is ending: it was and will be idle no more, but gRPC may keep it for long.
  virtual bool IsOver() = 0;
  // Ends the call with UNAVAILABLE, and gives its ticket back at once. False if it has a job meanwhile, or is over.
  virtual bool EndIfIdle() = 0;
};

class OpenRunStreams {
 public:
  void Add(std::weak_ptr<OpenRunStream> stream);
  // Ends the stream that has been idle longest, except those of sessions that hold arrays: their streams show that a
  // client is connected. False if there is none.
  bool EndIdle(const core::ArrayHolders& holders);

 private:
  // The streams that are not over; the others are forgotten.
  std::vector<std::shared_ptr<OpenRunStream>> Known();

  Mutex mutex_;
  std::vector<std::weak_ptr<OpenRunStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
