// hotplate.v1.Jobs.
#pragma once

#include "hotplate/v1/jobs.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class JobsService final : public ParsedService<v1::Jobs> {
 public:
  explicit JobsService(const ServiceContext& context);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* call, const v1::CheckJobRequest* request,
                                  v1::CheckJobResponse* response) override;
  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* call, const v1::ExecuteJobRequest* request,
                                    v1::ExecuteJobResponse* response) override;
  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* call, const v1::SubmitJobRequest* request,
                                   v1::SubmitJobResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* Watch(grpc::CallbackServerContext* call,
                                                        const v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* call, const v1::GetJobRequest* request,
                                v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* Why(grpc::CallbackServerContext* call, const v1::WhyJobRequest* request,
                                v1::WhyJobResponse* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* call, const v1::ListJobsRequest* request,
                                 v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* call, const v1::CancelJobRequest* request,
                                   v1::CancelJobResponse* response) override;
  grpc::ServerUnaryReactor* FetchResult(grpc::CallbackServerContext* call, const v1::FetchResultRequest* request,
                                        v1::FetchResultResponse* response) override;

 private:
  absl::Status CheckJob(const core::Principal& who, const v1::JobSpec& spec, v1::CheckJobResponse& response) const;
  // Calls `done` once, now or when the job is written down.
  void SubmitJob(const core::Principal& who, const v1::JobSpec& spec, DurableJobs::Done done) const;
  absl::Status ShowResult(const core::Principal& who, const std::string& id, v1::FetchResultResponse& response) const;
};

}  // namespace hotplate::server
