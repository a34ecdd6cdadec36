// hotplate.v1.Programs.
#pragma once

#include <functional>

#include "hotplate/v1/programs.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class ProgramsService final : public ParsedService<v1::Programs> {
 public:
  explicit ProgramsService(const ServiceContext& context);

  grpc::ServerUnaryReactor* Signal(grpc::CallbackServerContext* call, const v1::SignalProgramRequest* request,
                                   v1::SignalProgramResponse* response) override;
  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* call, const v1::SubmitProgramRequest* request,
                                   v1::SubmitProgramResponse* response) override;
  grpc::ServerUnaryReactor* Output(grpc::CallbackServerContext* call, const v1::ProgramOutputRequest* request,
                                   v1::ProgramOutputResponse* response) override;
  grpc::ServerUnaryReactor* OpenEnvironment(grpc::CallbackServerContext* call,
                                            const v1::OpenEnvironmentRequest* request,
                                            v1::OpenEnvironmentResponse* response) override;
  grpc::ServerUnaryReactor* PutFunction(grpc::CallbackServerContext* call, const v1::PutFunctionRequest* request,
                                        v1::PutFunctionResponse* response) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* call, const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* RestartWorkers(grpc::CallbackServerContext* call, const v1::RestartWorkersRequest* request,
                                           v1::RestartWorkersResponse* response) override;
  grpc::ServerUnaryReactor* AddEnvironment(grpc::CallbackServerContext* call, const v1::AddEnvironmentRequest* request,
                                           v1::AddEnvironmentResponse* response) override;
  grpc::ServerUnaryReactor* ListEnvironments(grpc::CallbackServerContext* call,
                                             const v1::ListEnvironmentsRequest* request,
                                             v1::ListEnvironmentsResponse* response) override;
  grpc::ServerUnaryReactor* RemoveEnvironment(grpc::CallbackServerContext* call,
                                              const v1::RemoveEnvironmentRequest* request,
                                              v1::RemoveEnvironmentResponse* response) override;

 private:
  // Calls `done` once, now or when the job is written down. Looks at files.
  void SubmitProgram(const core::Principal& who, const v1::Program& program, DurableJobs::Done done) const;
  // `answer` runs on the thread of `post`: on that for files, or on that for environments, which also waits for
  // programs.
  grpc::ServerUnaryReactor* AnswerAboutEnvironments(grpc::CallbackServerContext* call, core::Scope needed,
                                                    ServiceContext::Post post, const google::protobuf::Message& request,
                                                    std::function<absl::Status(NamedEnvironments&)> answer);
};

}  // namespace hotplate::server
