#include "server/service/guest_streams.h"

#include <algorithm>
#include <utility>

namespace hotplate::server {

void StreamEnd::Finish(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    if (finished_) return;
    if (cancelling_) {
      late_ = status;
      return;
    }
    finished_ = true;
  }
  finish_(status);
}

bool StreamEnd::finished() const {
  MutexLock lock(mutex_);
  return finished_;
}

void StreamEnd::EndFromOutside() {
  if (from_outside_ == FromOutside::kFinish) return Finish(core::EndedToken(who_.token));
  Cancel();
}

// Without the lock: gRPC may call the reactor within TryCancel.
void StreamEnd::Cancel() {
  {
    MutexLock lock(mutex_);
    if (finished_ || cancelling_) return;
    cancelling_ = true;
  }
  call_->TryCancel();
  std::optional<absl::Status> status;
  {
    MutexLock lock(mutex_);
    cancelling_ = false;
    status = std::exchange(late_, std::nullopt);
    finished_ = status.has_value();
  }
  if (status) finish_(*status);
}

void GuestStreams::Add(std::weak_ptr<StreamEnd> stream) {
  MutexLock lock(mutex_);
  std::erase_if(streams_, [](const std::weak_ptr<StreamEnd>& one) { return one.expired(); });
  streams_.push_back(std::move(stream));
}

void GuestStreams::EndOver() {
  if (allowances_ == nullptr) return;
  std::vector<std::shared_ptr<StreamEnd>> streams;
  {
    MutexLock lock(mutex_);
    for (const std::weak_ptr<StreamEnd>& one : streams_) {
      if (std::shared_ptr<StreamEnd> stream = one.lock()) streams.push_back(std::move(stream));
    }
  }
  for (const std::shared_ptr<StreamEnd>& stream : streams) {
    const std::shared_ptr<const core::Allowance> allowance = allowances_->Of(stream->who().token);
    if (allowance != nullptr && allowance->is_over(stream->who().serial)) stream->EndFromOutside();
  }
}

}  // namespace hotplate::server
