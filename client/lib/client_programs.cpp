// The calls of Client about programs.
#include <optional>
#include <utility>

#include "client/lib/impl.h"
#include "client/lib/status.h"
#include "hotplate/v1/programs.grpc.pb.h"
#include "kernels/base/mutex.h"

namespace hotplate::client {
namespace {

// The daemon's own bound for an interpreter that does not answer, with time to say so.
constexpr nanoseconds kInterpretersPatience = std::chrono::seconds(130);

using Stream = grpc::ClientReaderWriter<v1::RunProgramRequest, v1::RunProgramResponse>;

// The call, which whoever has its input may outlive.
class ProgramStream final : public ProgramInput {
 public:
  grpc::ClientContext& context() { return context_; }
  void Open(v1::Programs::Stub& programs) { stream_ = programs.Run(&context_); }
  bool Read(v1::RunProgramResponse& response) { return stream_->Read(&response); }
  grpc::Status Finish() {
    MutexLock lock(sending_);
    over_ = true;
    return stream_->Finish();
  }

  bool Write(std::string_view bytes) override {
    v1::RunProgramRequest request;
    request.set_input(bytes.data(), bytes.size());
    return Send(request);
  }
  void End() override {
    v1::RunProgramRequest request;
    request.set_input_ends(true);
    Send(request);
  }
  void Resize(std::uint32_t rows, std::uint32_t columns) override {
    v1::RunProgramRequest request;
    request.mutable_terminal()->set_rows(rows);
    request.mutable_terminal()->set_columns(columns);
    Send(request);
  }
  bool Send(const v1::RunProgramRequest& request) {
    MutexLock lock(sending_);
    return !over_ && stream_->Write(request);
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  Mutex sending_;  // one message at a time
  bool over_ ABSL_GUARDED_BY(sending_) = false;
};

}  // namespace

absl::StatusOr<v1::JobEnd> Client::RunProgram(const v1::Program& program,
                                              const std::function<void(std::shared_ptr<ProgramInput>)>& on_begin,
                                              const std::function<void(const v1::RunProgramResponse&)>& on_response,
                                              const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  const auto stream = std::make_shared<ProgramStream>();
  Target& target = c.now();
  c.Authorize(target, stream->context());
  const CancelOnStop cancel(Impl::TokenOf(cancellation), stream->context());
  stream->Open(*target.programs);
  v1::RunProgramRequest request;
  *request.mutable_program() = program;
  stream->Send(request);
  v1::RunProgramResponse response;
  std::optional<v1::JobEnd> end;
  bool begun = false;
  while (stream->Read(response)) {
    if (!std::exchange(begun, true) && on_begin) on_begin(stream);
    if (on_response) on_response(response);
    if (response.has_end()) end = response.end();
  }
  const grpc::Status finished = stream->Finish();
  if (end) return *end;
  if (cancellation != nullptr && cancellation->cancelled()) return absl::CancelledError("the program was cancelled");
  if (finished.ok()) return MarkedLost(absl::UnavailableError("the daemon closed the stream"));
  return c.Translate(target, finished);
}

absl::Status Client::SignalProgram(const std::string& job_id, int number) {
  const Connection& c = *impl_->connection;
  v1::SignalProgramRequest request;
  request.set_job_id(job_id);
  request.set_signal(number);
  v1::SignalProgramResponse response;
  return c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncSignal, request, response,
                {.repeat = Repeat::kNever});
}

absl::StatusOr<std::string> Client::SubmitProgram(const v1::Program& program, const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::SubmitProgramRequest request;
  *request.mutable_program() = program;
  if (program.request_id().empty()) {
    request.mutable_program()->set_request_id(c.request_ids().Next());
    request.mutable_program()->set_forget_when_delivered(true);
  }
  v1::SubmitProgramResponse response;
  const absl::Status status = c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncSubmit, request, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response.job_id();
}

absl::StatusOr<v1::ProgramOutputResponse> Client::ProgramOutput(const std::string& job_id, std::uint64_t from,
                                                                std::uint64_t task, const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::ProgramOutputRequest request;
  request.set_job_id(job_id);
  request.set_from(from);
  request.set_task(task);
  v1::ProgramOutputResponse response;
  const absl::Status status = c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncOutput, request, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::OpenEnvironmentResponse> Client::OpenEnvironment(const v1::Program& python,
                                                                    const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::OpenEnvironmentRequest request;
  *request.mutable_python() = python;
  v1::OpenEnvironmentResponse response;
  const absl::Status status =
      c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncOpenEnvironment, request, response,
             {.deadline = kInterpretersPatience, .stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::AddEnvironmentResponse> Client::AddEnvironment(const v1::AddEnvironmentRequest& request,
                                                                  const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::AddEnvironmentResponse response;
  const absl::Status status =
      c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncAddEnvironment, request, response,
             {.repeat = Repeat::kAnew, .deadline = 2 * kInterpretersPatience, .stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::ListEnvironmentsResponse> Client::ListEnvironments(const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::ListEnvironmentsResponse response;
  const absl::Status status = c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncListEnvironments,
                                     v1::ListEnvironmentsRequest(), response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::Status Client::RemoveEnvironment(const std::string& name) {
  const Connection& c = *impl_->connection;
  v1::RemoveEnvironmentRequest request;
  request.set_name(name);
  v1::RemoveEnvironmentResponse response;
  return c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncRemoveEnvironment, request, response,
                {.repeat = Repeat::kNever});
}

absl::StatusOr<std::string> Client::PutFunction(const std::string& name, std::string_view code,
                                                const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::PutFunctionRequest request;
  request.set_name(name);
  request.set_code(code.data(), code.size());
  v1::PutFunctionResponse response;
  const absl::Status status = c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncPutFunction, request, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response.function();
}

absl::StatusOr<v1::ListWorkersResponse> Client::ListWorkers(const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::ListWorkersResponse response;
  const absl::Status status = c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncListWorkers,
                                     v1::ListWorkersRequest(), response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<std::uint32_t> Client::RestartWorkers() {
  const Connection& c = *impl_->connection;
  v1::RestartWorkersResponse response;
  const absl::Status status = c.Call(&Target::programs, &v1::Programs::Stub::PrepareAsyncRestartWorkers,
                                     v1::RestartWorkersRequest(), response, {});
  if (!status.ok()) return status;
  return response.count();
}

}  // namespace hotplate::client
