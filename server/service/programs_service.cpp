#include "server/service/programs_service.h"

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/core/sweeps/sweep_run.h"
#include "server/service/programs.h"
#include "server/service/recall.h"
#include "server/service/run_program_call.h"
#include "server/service/unary.h"
#include "server/wire/sweep.h"
#include "server/workers/function_job.h"
#include "server/workers/program_sweep.h"

namespace hotplate::server {
namespace {

struct FoundProgram {
  core::JobId id;
  std::shared_ptr<ProgramStreams> streams;
  bool ended = false;
  bool is_function = false;
  bool is_task = false;  // of a sweep, whose other tasks somebody else may read
};

// The output of one task of a sweep: its streams, or their copy in the journal.
absl::StatusOr<FoundProgram> FindTaskOf(const ServiceContext& context, const core::JobSnapshot& job,
                                        std::uint64_t task) {
  const bool ended = job.end != nullptr && job.end->sweep != nullptr;
  const std::uint64_t tasks = ended ? job.end->sweep->counts.total : job.sweep->counts().total;
  const auto* const sweep = dynamic_cast<const ProgramSweep*>(job.work.get());
  FoundProgram found{job.id, nullptr, job.end != nullptr};
  found.is_task = true;
  if (sweep != nullptr) {
    // The task alone may have ended; asked before it is read, so that nothing can come behind the end.
    found.ended = found.ended || sweep->streams().HasEnded(task);
    found.streams = sweep->streams().Of(task);
  }
  if (found.streams != nullptr) return found;
  if (context.durable() != nullptr) {
    absl::StatusOr<ProgramStreams::Everything> printed = context.durable()->PrintedBy(job.id, task);
    if (printed.ok()) {
      found.streams = std::make_shared<ProgramStreams>(*std::move(printed));
      found.ended = true;
      return found;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nothing that task ", task, " of job ", job.id.value(),
                   " has printed is there: it has not begun, is no task of it, or its output is "
                   "kept no longer (",
                   tasks, " tasks)"));
}

absl::StatusOr<FoundProgram> FindProgramOf(const ServiceContext& context, const core::Principal& who,
                                           const std::string& job_id, std::uint64_t task = 0) {
  core::JobId id = IdOf(job_id);
  const absl::StatusOr<core::JobSnapshot> job = context.engine().Get(who, id);
  if (!job.ok()) return context.AboutJob(who, job.status(), id.value());
  if (wire::IsSweep(*job) && job->work != nullptr) return FindTaskOf(context, *job, task);
  const auto* const program = dynamic_cast<const PrintingWork*>(job->work.get());
  if (program == nullptr) {
    return absl::InvalidArgumentError("job " + id.value() + " runs the kernel " + job->kernel +
                                      ", which prints nothing: its outputs are arrays (hotplate result " + id.value() +
                                      ")");
  }
  if (task > 0)
    return absl::InvalidArgumentError(absl::StrCat("job ", id.value(), " is no sweep: it has no task ", task));
  const bool is_function = dynamic_cast<const FunctionJob*>(program) != nullptr;
  return FoundProgram{std::move(id), program->streams(), job->end != nullptr, is_function};
}

absl::Status ReadOutput(const ServiceContext& context, const core::Principal& who,
                        const v1::ProgramOutputRequest& request, v1::ProgramOutputResponse& response) {
  const absl::StatusOr<FoundProgram> program = FindProgramOf(context, who, request.job_id(), request.task());
  if (!program.ok()) return program.status();
  // Read after the state was, so that nothing can come behind the end.
  const ProgramStreams::Kept kept = program->streams->KeptFrom(request.from());
  for (const OutputPiece& piece : kept.pieces) wire::ToProto(piece, *response.add_pieces());
  response.set_begin(kept.begin);
  response.set_ended(program->ended && kept.pieces.empty());
  // All has been read: it need not be kept for anybody else.
  if (response.ended() && !program->is_task) context.engine().Fetch(who, program->id).IgnoreError();
  response.set_generation(context.generation());
  return absl::OkStatus();
}

v1::Worker::State ToProto(WarmPythons::State state) {
  switch (state) {
    case WarmPythons::State::kStarting:
      return v1::Worker::STARTING;
    case WarmPythons::State::kWarm:
      return v1::Worker::WARM;
    case WarmPythons::State::kEnded:
      return v1::Worker::ENDED;
    case WarmPythons::State::kFailed:
      return v1::Worker::FAILED;
  }
  return v1::Worker::STATE_UNSPECIFIED;
}

// A module may have made it say bytes that are no text.
std::string AsText(const std::string& words) { return IsUtf8(words) ? words : absl::CHexEscape(words); }

void ToProto(const WarmPythons::Row& row, v1::Worker& out) {
  out.set_interpreter(AsText(row.interpreter));
  out.set_version(AsText(row.version));
  out.set_state(ToProto(row.state));
  out.set_why(AsText(row.why));
  out.set_pid(row.pid);
  out.set_scripts(row.scripts);
  for (const auto& [name, version] : row.modules) {
    v1::Worker::Module& module = *out.add_modules();
    module.set_name(AsText(name));
    module.set_version(AsText(version));
  }
  for (const auto& [name, why] : row.left_out) {
    v1::Worker::LeftOut& module = *out.add_left_out();
    module.set_name(AsText(name));
    module.set_why(AsText(why));
  }
}

void ToProto(const WorkerPool::Row& row, v1::FunctionWorker& out) {
  out.set_pid(row.worker->pid);
  out.set_interpreter(AsText(row.worker->environment->python.file));
  out.set_device(row.worker->device);
  out.set_busy(row.busy);
  out.set_refs(static_cast<std::uint32_t>(row.refs));
  out.set_alone(row.alone);
}

}  // namespace

ProgramsService::ProgramsService(const ServiceContext& context) : ParsedService(context) {
  BidiStream<v1::RunProgramResponse>(
      "Run", [this](grpc::CallbackServerContext* call) { return RunProgramCall::Start(context_, call); });
  Unary("Signal", &ProgramsService::Signal);
  Unary("Submit", &ProgramsService::Submit);
  Unary("Output", &ProgramsService::Output);
  Unary("OpenEnvironment", &ProgramsService::OpenEnvironment);
  Unary("PutFunction", &ProgramsService::PutFunction);
  Unary("ListWorkers", &ProgramsService::ListWorkers);
  Unary("RestartWorkers", &ProgramsService::RestartWorkers);
  Unary("AddEnvironment", &ProgramsService::AddEnvironment);
  Unary("ListEnvironments", &ProgramsService::ListEnvironments);
  Unary("RemoveEnvironment", &ProgramsService::RemoveEnvironment);
}

grpc::ServerUnaryReactor* ProgramsService::Signal(grpc::CallbackServerContext* call,
                                                  const v1::SignalProgramRequest* request,
                                                  v1::SignalProgramResponse* response) {
  return AnswerNow(context_, call, core::Scope::kCode, [&](const core::Principal& who) -> absl::Status {
    const absl::StatusOr<int> number = wire::SignalFromProto(request->signal());
    if (!number.ok()) return number.status();
    const absl::StatusOr<FoundProgram> program = FindProgramOf(context_, who, request->job_id());
    if (!program.ok()) return program.status();
    if (program->is_function) {
      return absl::InvalidArgumentError("job " + program->id.value() +
                                        " is a call of a function, which takes no signals: cancel it");
    }
    if (program->is_task) {
      return absl::InvalidArgumentError("job " + program->id.value() +
                                        " is a sweep, whose tasks take no signals: cancel it");
    }
    if (!program->ended) program->streams->Signal(*number);
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ProgramsService::Submit(grpc::CallbackServerContext* call,
                                                  const v1::SubmitProgramRequest* request,
                                                  v1::SubmitProgramResponse* response) {
  return AnswerWhenDone(context_, call, core::Scope::kCode,
                        [=, this](const core::Principal& who, const auto& finish) -> absl::Status {
                          if (absl::Status status = context_.AcceptsJobs(); !status.ok()) return status;
                          if (request->program().has_terminal()) {
                            return InvalidField("terminal", "a program in the background cannot have a terminal");
                          }
                          return context_.PostForFiles(request->ByteSizeLong(), [=, this] {
                            SubmitProgram(who, request->program(), [=, this](const absl::StatusOr<core::JobId>& id) {
                              if (id.ok()) response->set_job_id(id->value());
                              response->set_generation(context_.generation());
                              finish(id.status());
                            });
                          });
                        });
}

void ProgramsService::SubmitProgram(const core::Principal& who, const v1::Program& program,
                                    DurableJobs::Done done) const {
  absl::StatusOr<core::JobRequest> job =
      ProgramAsJob(context_, program, std::make_shared<ProgramStreams>(/*has_client=*/false));
  if (!job.ok()) return done(job.status());
  DurableJobs* const durable = context_.durable();
  if (durable == nullptr) return done(context_.engine().Submit(who, *std::move(job), nullptr, 0));
  if (absl::Status status = durable->CheckNotAway(who, job->request_id); !status.ok()) return done(status);
  durable->Accept(who, *std::move(job), program, std::move(done));
}

grpc::ServerUnaryReactor* ProgramsService::Output(grpc::CallbackServerContext* call,
                                                  const v1::ProgramOutputRequest* request,
                                                  v1::ProgramOutputResponse* response) {
  // The output of a task may be in the journal's files alone.
  const auto is_sweep = [=, this](const core::Principal& who) {
    const absl::StatusOr<core::JobSnapshot> job = context_.engine().Get(who, IdOf(request->job_id()));
    return context_.durable() != nullptr && job.ok() && wire::IsSweep(*job);
  };
  return AnswerAfterRecall(
      context_, call, *request, request->job_id(), /*result=*/true, is_sweep,
      [=, this](const core::Principal& who) { return ReadOutput(context_, who, *request, *response); });
}

grpc::ServerUnaryReactor* ProgramsService::OpenEnvironment(grpc::CallbackServerContext* call,
                                                           const v1::OpenEnvironmentRequest* request,
                                                           v1::OpenEnvironmentResponse* response) {
  return AnswerLater(context_, call, core::Scope::kCode, &ServiceContext::PostForEnvironments, *request,
                     absl::OkStatus(), [=, this] {
                       absl::StatusOr<FunctionEnvironment> environment =
                           server::OpenEnvironment(context_, request->python(), *response);
                       if (environment.ok()) context_.programs().functions->Add(*std::move(environment));
                       return environment.status();
                     });
}

grpc::ServerUnaryReactor* ProgramsService::PutFunction(grpc::CallbackServerContext* call,
                                                       const v1::PutFunctionRequest* request,
                                                       v1::PutFunctionResponse* response) {
  return AnswerNow(context_, call, core::Scope::kCode, [&](const core::Principal&) -> absl::Status {
    absl::StatusOr<FunctionCode> function = FunctionFrom(context_, *request);
    if (!function.ok()) return function.status();
    response->set_function(function->id);
    response->set_generation(context_.generation());
    context_.programs().functions->Add(*std::move(function));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ProgramsService::ListWorkers(grpc::CallbackServerContext* call,
                                                       const v1::ListWorkersRequest* /*request*/,
                                                       v1::ListWorkersResponse* response) {
  return AnswerNow(context_, call, core::Scope::kCode, [&](const core::Principal& /*who*/) {
    if (const WarmPythons* const pythons = context_.programs().pythons; pythons != nullptr) {
      for (const WarmPythons::Row& row : pythons->Rows()) ToProto(row, *response->add_workers());
      for (const WorkerPool::Row& row : context_.programs().workers->Rows())
        ToProto(row, *response->add_function_workers());
    }
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ProgramsService::RestartWorkers(grpc::CallbackServerContext* call,
                                                          const v1::RestartWorkersRequest* /*request*/,
                                                          v1::RestartWorkersResponse* response) {
  return AnswerNow(context_, call, core::Scope::kAdmin, [&](const core::Principal& /*who*/) {
    WarmPythons* const pythons = context_.programs().pythons;
    if (pythons != nullptr) {
      const std::size_t count = pythons->Restart() + context_.programs().workers->Clear();
      response->set_count(static_cast<std::uint32_t>(count));
    }
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ProgramsService::AddEnvironment(grpc::CallbackServerContext* call,
                                                          const v1::AddEnvironmentRequest* request,
                                                          v1::AddEnvironmentResponse* response) {
  constexpr ServiceContext::Post kPost = &ServiceContext::PostForEnvironments;
  return AnswerAboutEnvironments(
      call, core::Scope::kAdmin, kPost, *request, [=, this](NamedEnvironments& environments) {
        auto added = environments.Add(*request, [this] { return context_.control().draining(); });
        if (!added.ok()) return added.status();
        *response = *std::move(added);
        response->set_generation(context_.generation());
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* ProgramsService::ListEnvironments(grpc::CallbackServerContext* call,
                                                            const v1::ListEnvironmentsRequest* request,
                                                            v1::ListEnvironmentsResponse* response) {
  return AnswerAboutEnvironments(call, core::Scope::kCode, &ServiceContext::PostForFiles, *request,
                                 [=, this](const NamedEnvironments& environments) {
                                   for (v1::PythonEnvironment& one : environments.List())
                                     *response->add_environments() = std::move(one);
                                   response->set_generation(context_.generation());
                                   return absl::OkStatus();
                                 });
}

grpc::ServerUnaryReactor* ProgramsService::RemoveEnvironment(grpc::CallbackServerContext* call,
                                                             const v1::RemoveEnvironmentRequest* request,
                                                             v1::RemoveEnvironmentResponse* response) {
  constexpr ServiceContext::Post kPost = &ServiceContext::PostForFiles;
  return AnswerAboutEnvironments(call, core::Scope::kAdmin, kPost, *request,
                                 [=, this](const NamedEnvironments& environments) {
                                   response->set_generation(context_.generation());
                                   return environments.Remove(request->name());
                                 });
}

grpc::ServerUnaryReactor* ProgramsService::AnswerAboutEnvironments(
    grpc::CallbackServerContext* call, core::Scope needed, ServiceContext::Post post,
    const google::protobuf::Message& request, std::function<absl::Status(NamedEnvironments&)> answer) {
  NamedEnvironments* const environments = context_.programs().environments;
  return AnswerLater(context_, call, needed, post, request, RunsPrograms(context_.programs()),
                     [environments, answer = std::move(answer)] { return answer(*environments); });
}

}  // namespace hotplate::server
