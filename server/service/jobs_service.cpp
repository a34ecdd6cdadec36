#include "server/service/jobs_service.h"

#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/core/jobs/job_event.h"
#include "server/core/jobs/job_table.h"
#include "server/service/execute_call.h"
#include "server/service/programs.h"
#include "server/service/recall.h"
#include "server/service/run_call.h"
#include "server/service/unary.h"
#include "server/service/watch_stream.h"
#include "server/wire/sweep.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

constexpr std::size_t kDefaultPage = 100, kLargestPage = 1000;

template <typename Response>
absl::Status Show(const core::Principal& who, const absl::StatusOr<core::JobSnapshot>& job, const std::string& id,
                  const ServiceContext& context, Response& response) {
  if (!job.ok()) return context.AboutJob(who, job.status(), id);
  wire::ToProto(*job, context.facts(), *response.mutable_job());
  response.set_generation(context.generation());
  return absl::OkStatus();
}

absl::Status Narrow(const v1::ListJobsRequest& request, core::JobFilter& filter) {
  for (const int state : request.states()) {
    if (!v1::JobState_IsValid(state) || state == v1::JOB_STATE_UNSPECIFIED) {
      return InvalidField("states", "states holds the unknown number " + std::to_string(state));
    }
    filter.states.push_back(static_cast<core::JobState>(state));
  }
  filter.kernel = request.kernel();
  filter.label = request.label();
  filter.graph = request.graph();
  if (!request.has_submitted_within()) return absl::OkStatus();
  const absl::StatusOr<core::nanoseconds> within =
      wire::PositiveDuration(request.submitted_within(), "submitted_within");
  if (!within.ok()) return within.status();
  const auto back = std::chrono::duration_cast<core::WallTime::duration>(*within);
  filter.submitted_since = std::chrono::system_clock::now() - back;
  return absl::OkStatus();
}

}  // namespace

JobsService::JobsService(const ServiceContext& context) : ParsedService(context) {
  Unary("Check", &JobsService::Check);
  Unary("Execute", &JobsService::Execute);
  BidiStream<v1::RunJobsResponse>("Run",
                                  [this](grpc::CallbackServerContext* call) { return RunCall::Start(context_, call); });
  Unary("Submit", &JobsService::Submit);
  ServerStream("Watch", &JobsService::Watch);
  Unary("Get", &JobsService::Get);
  Unary("Why", &JobsService::Why);
  Unary("List", &JobsService::List);
  Unary("Cancel", &JobsService::Cancel);
  Unary("FetchResult", &JobsService::FetchResult);
}

absl::Status JobsService::CheckJob(const core::Principal& who, const v1::JobSpec& spec,
                                   v1::CheckJobResponse& response) const {
  if (absl::Status status = context_.CheckSize(spec); !status.ok()) return status;
  const absl::StatusOr<core::JobRequest> request = JobAsRequest(context_, who, spec, wire::SignatureInputs::kAllowed);
  if (!request.ok()) return request.status();
  const absl::StatusOr<core::CheckReport> report = context_.engine().Check(who, *request);
  if (!report.ok()) return report.status();
  wire::ToProto(*report, response);
  response.set_generation(context_.generation());
  return absl::OkStatus();
}

void JobsService::SubmitJob(const core::Principal& who, const v1::JobSpec& spec, DurableJobs::Done done) const {
  if (absl::Status status = context_.CheckSize(spec); !status.ok()) return done(status);
  if (absl::Status status = context_.AcceptsJobs(); !status.ok()) return done(status);
  absl::StatusOr<core::JobRequest> request = JobAsRequest(context_, who, spec, wire::SignatureInputs::kRefused);
  if (!request.ok()) return done(request.status());
  if (context_.durable() != nullptr && context_.durable()->CanOutlive(who, *request)) {
    return context_.durable()->Accept(who, *std::move(request), spec, std::move(done));
  }
  done(context_.engine().Submit(who, *std::move(request), nullptr, 0));
}

grpc::ServerUnaryReactor* JobsService::Check(grpc::CallbackServerContext* call, const v1::CheckJobRequest* request,
                                             v1::CheckJobResponse* response) {
  return AnswerAfterFiles(
      context_, call, core::Scope::kObserve, *request,
      [=](const core::Principal&) { return wire::NeedsFiles(request->job()); },
      [=, this](const core::Principal& who) { return CheckJob(who, request->job(), *response); });
}

grpc::ServerUnaryReactor* JobsService::Execute(grpc::CallbackServerContext* call, const v1::ExecuteJobRequest* request,
                                               v1::ExecuteJobResponse* response) {
  return ExecuteCall::Start(context_, call, *request, *response);
}

grpc::ServerUnaryReactor* JobsService::Submit(grpc::CallbackServerContext* call, const v1::SubmitJobRequest* request,
                                              v1::SubmitJobResponse* response) {
  return AnswerWhenDone(
      context_, call, core::Scope::kSubmit, [=, this](const core::Principal& who, const auto& finish) {
        const v1::JobSpec& spec = request->job();
        const auto submit = [this, response, &spec, who, finish] {
          SubmitJob(who, spec, [this, response, finish](const absl::StatusOr<core::JobId>& id) {
            if (id.ok()) response->set_job_id(id->value());
            response->set_generation(context_.generation());
            finish(id.status());
          });
        };
        if (wire::NeedsFiles(spec) || (context_.durable() != nullptr && context_.durable()->MustWait(who, spec))) {
          return context_.PostForFiles(spec.ByteSizeLong(), submit);
        }
        submit();
        return absl::OkStatus();
      });
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobsService::Watch(grpc::CallbackServerContext* call,
                                                                   const v1::WatchJobRequest* request) {
  return WatchStream::Start(context_, call, *request);
}

grpc::ServerUnaryReactor* JobsService::Get(grpc::CallbackServerContext* call, const v1::GetJobRequest* request,
                                           v1::GetJobResponse* response) {
  return AnswerAfterRecall(
      context_, call, *request, request->job_id(), /*result=*/false, [=, this](const core::Principal& who) {
        const absl::StatusOr<core::JobSnapshot> job = context_.engine().Get(who, IdOf(request->job_id()));
        if (job.ok() && request->sweep() && wire::IsSweep(*job)) wire::FillSweep(*job, *response->mutable_sweep());
        return Show(who, job, request->job_id(), context_, *response);
      });
}

grpc::ServerUnaryReactor* JobsService::Why(grpc::CallbackServerContext* call, const v1::WhyJobRequest* request,
                                           v1::WhyJobResponse* response) {
  return AnswerAfterRecall(context_, call, *request, request->job_id(), /*result=*/false,
                           [=, this](const core::Principal& who) -> absl::Status {
                             const auto why = context_.engine().Why(who, IdOf(request->job_id()));
                             if (!why.ok()) return context_.AboutJob(who, why.status(), request->job_id());
                             wire::ToProto(*why, context_.facts(), *response);
                             response->set_generation(context_.generation());
                             return absl::OkStatus();
                           });
}

grpc::ServerUnaryReactor* JobsService::List(grpc::CallbackServerContext* call, const v1::ListJobsRequest* request,
                                            v1::ListJobsResponse* response) {
  return AnswerNow(context_, call, core::Scope::kObserve, [&](const core::Principal& who) {
    core::JobFilter filter;
    if (request->own_session()) filter.session = who.session;
    filter.active_only = request->active_only();
    if (absl::Status status = Narrow(*request, filter); !status.ok()) return status;
    const std::size_t page =
        request->page_size() == 0 ? kDefaultPage : std::min<std::size_t>(request->page_size(), kLargestPage);
    filter.limit = page + 1;  // one more, to know whether there is a next page
    filter.before_id = request->page_token();
    if (!filter.before_id.empty() && core::JobTable::NumberOf(filter.before_id) == 0) {
      return InvalidField("page_token", "page_token " + Quoted(filter.before_id) +
                                            " is not one: send the next_page_token of the page before, or none");
    }
    std::vector<core::JobSnapshot> jobs = context_.engine().List(who, filter);
    if (jobs.size() > page) {
      jobs.resize(page);
      response->set_next_page_token(jobs.back().id.value());
    }
    for (const core::JobSnapshot& job : jobs) wire::ToProto(job, context_.facts(), *response->add_jobs());
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobsService::Cancel(grpc::CallbackServerContext* call, const v1::CancelJobRequest* request,
                                              v1::CancelJobResponse* response) {
  return AnswerWhenDone(context_, call, core::Scope::kSubmit,
                        [=, this](const core::Principal& who, const auto& finish) {
                          const core::JobId id = IdOf(request->job_id());
                          const auto done = [=, this](const absl::StatusOr<core::JobSnapshot>& job) {
                            finish(Show(who, job, request->job_id(), context_, *response));
                          };
                          if (context_.durable() != nullptr) {
                            context_.durable()->Cancel(who, id, done);
                          } else {
                            done(context_.engine().Cancel(who, id));
                          }
                          return absl::OkStatus();
                        });
}

absl::Status JobsService::ShowResult(const core::Principal& who, const std::string& id,
                                     v1::FetchResultResponse& response) const {
  const absl::StatusOr<core::JobSnapshot> job = context_.engine().Fetch(who, IdOf(id));
  if (!job.ok()) return context_.AboutJob(who, job.status(), id);
  if (!job->end) {
    return absl::FailedPreconditionError(ToAbsl("job " + job->id.value() + " is " +
                                                std::string(core::Name(job->state)) +
                                                " and has no result yet; wait for its end first"));
  }
  if (job->end->outputs_dropped) {
    return absl::FailedPreconditionError(ToAbsl("job " + job->id.value() +
                                                " was attached: its outputs went to its stream and were not kept; "
                                                "those of a detached job (submit) are; the job still has its receipt"));
  }
  wire::ToProto(*job->end, job->id, job->kernel, context_.facts(), response);
  response.set_generation(context_.generation());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* JobsService::FetchResult(grpc::CallbackServerContext* call,
                                                   const v1::FetchResultRequest* request,
                                                   v1::FetchResultResponse* response) {
  return AnswerAfterRecall(
      context_, call, *request, request->job_id(), /*result=*/true,
      [=, this](const core::Principal& who) { return ShowResult(who, request->job_id(), *response); });
}

}  // namespace hotplate::server
