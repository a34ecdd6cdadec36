// Uploads and downloads that are under way end with the token of their caller. One that moves sees that for itself,
// with its next chunk, and its client is told why. One that stands still, since its client sends or takes nothing, is
// ended from outside, by a look that comes now and then.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "server/core/allowances.h"
#include "server/core/types.h"

namespace hotplate::server {

// Finishes a call, once: from its own callbacks or from outside. Thread-safe.
class StreamEnd {
 public:
  // How it is ended from outside. A pending read does not keep a status from the client; behind a pending write it
  // would wait for the client as that does, so the call is cancelled.
  enum class FromOutside { kFinish, kCancel };
  // `finish` calls the reactor, which gRPC keeps until then, as it does `call`.
  StreamEnd(grpc::CallbackServerContext* call, core::Principal who, FromOutside from_outside,
            std::function<void(const absl::Status&)> finish)
      : call_(call), who_(std::move(who)), from_outside_(from_outside), finish_(std::move(finish)) {}

  const core::Principal& who() const { return who_; }
  // Does nothing if it was finished.
  void Finish(const absl::Status& status);
  bool finished() const;
  // Its token has ended.
  void EndFromOutside();

 private:
  void Cancel();

  grpc::CallbackServerContext* const call_;
  const core::Principal who_;
  const FromOutside from_outside_;
  const std::function<void(const absl::Status&)> finish_;
  mutable Mutex mutex_;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;           // until then the call must not be finished
  std::optional<absl::Status> late_ ABSL_GUARDED_BY(mutex_);  // how to finish it then
};

// Thread-safe.
class GuestStreams {
 public:
  // Null: no token has bounds.
  explicit GuestStreams(std::shared_ptr<const core::Allowances> allowances) : allowances_(std::move(allowances)) {}

  void Add(std::weak_ptr<StreamEnd> stream);
  // Ends those whose tokens have ended.
  void EndOver();

 private:
  const std::shared_ptr<const core::Allowances> allowances_;
  Mutex mutex_;
  std::vector<std::weak_ptr<StreamEnd>> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
