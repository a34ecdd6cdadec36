// The sweeps that go on (sweep_run.h), to look after all of them now and then.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/sweeps/sweep_run.h"

namespace hotplate::core {

// Thread-safe.
class Sweeps {
 public:
  explicit Sweeps(const SweepRun::Parts& parts) : parts_(parts) {}

  // SweepRun::Prepare, for requests with a sweep; refuses what a sweep cannot be a part of.
  absl::StatusOr<std::shared_ptr<SweepRun>> Prepare(const Principal& who, const JobRequest& request, BoundJob& first,
                                                    SweepRun::Memory memory) const;
  void Begin(Job& job);
  // Their observers hear how far they are, the log gets what is due, and a device that is back gets tasks.
  void Look();

 private:
  const SweepRun::Parts parts_;
  Mutex mutex_;
  std::vector<std::weak_ptr<SweepRun>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
