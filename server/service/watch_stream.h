// Jobs.Watch: the story of one job, from a sequence number on, until it ends.
#pragma once

#include "hotplate/v1/jobs.pb.h"
#include "server/service/update_stream.h"

namespace hotplate::server {

class WatchStream final : public UpdateStream<grpc::ServerWriteReactor<v1::WatchJobResponse>, v1::WatchJobResponse> {
 public:
  static grpc::ServerWriteReactor<v1::WatchJobResponse>* Start(const ServiceContext& context,
                                                               grpc::CallbackServerContext* call,
                                                               const v1::WatchJobRequest& request);

  WatchStream(const ServiceContext& context, StreamTicket ticket);

 private:
  // Tells the story of the job, or why it cannot.
  void Follow(const core::Principal& who, const core::JobId& id, std::uint64_t from_sequence);
  std::string EndedLocked(std::uint64_t tag) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string kernel_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
