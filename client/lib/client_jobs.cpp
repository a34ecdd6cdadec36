// The calls of Client about jobs.
#include <algorithm>
#include <utility>

#include "client/lib/impl.h"
#include "client/lib/job_run.h"
#include "client/lib/status.h"
#include "client/lib/wire.h"

namespace hotplate::client {
namespace {

// Arrays of the daemon's among a result's outputs: downloading them is work for a thread that may wait.
bool HasArrays(const absl::StatusOr<EndedJob>& ended) {
  if (!ended.ok()) return false;
  for (const v1::JobResult::Output& output : ended->end.result().outputs()) {
    if (output.has_array_id()) return true;
  }
  return false;
}

// Asked to stop when either of two is.
class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : on_one_(one, [this] { source_.request_stop(); }), on_other_(other, [this] { source_.request_stop(); }) {}

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> on_one_, on_other_;
};

bool IsOver(v1::JobState state) { return state != v1::PENDING && state != v1::RUNNING; }

// True if a part of the result stays in the session, which the daemon keeps while a client is connected.
bool SessionKeeps(const JobOptions& options) {
  return options.leave_result ||
         std::any_of(options.keep.begin(), options.keep.end(), [](const auto& output) { return !output.second.lease; });
}

}  // namespace

absl::StatusOr<v1::CheckJobResponse> Client::Check(const std::string& kernel,
                                                   const std::map<std::string, Input>& inputs,
                                                   const JobOptions& options, const Cancellation* cancellation) {
  if (const absl::Status status = CheckCall(kernel, inputs, options); !status.ok()) return status;
  const Connection& c = *impl_->connection;
  v1::CheckJobRequest request;
  *request.mutable_job() = SpecFor(kernel, options, c.request_ids());
  AddInputs(inputs, ViewsAs::kSignature, *request.mutable_job());
  v1::CheckJobResponse response;
  const absl::Status status = c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncCheck, request, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<JobResult> Client::Run(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                      const JobOptions& options, const Cancellation* cancellation) {
  const Deadline deadline = JobRun::DeadlineOf(options);
  const auto once = [&]() -> absl::StatusOr<JobResult> {
    JobRun run(*impl_->connection, kernel, inputs, options, Impl::TokenOf(cancellation), deadline);
    absl::StatusOr<v1::JobSpec> spec = run.Prepare();
    if (!spec.ok()) return spec.status();
    return run.Complete(impl_->stream().Run(*std::move(spec), options, run.deadline(), run.stop()));
  };
  // Pieces that take_output has received cannot be taken back.
  return options.take_output ? once() : StartingOver(*impl_->connection, once);
}

absl::StatusOr<JobResult> Client::Eval(const std::string& text, const std::map<std::string, Input>& inputs,
                                       const JobOptions& options, const Cancellation* cancellation) {
  JobOptions expression = options;
  expression.expression = text;
  return Run("expression", inputs, expression, cancellation);
}

// A job of RunAsync until its end.
struct Client::Flight {
  std::optional<EitherStop> either;
  std::optional<JobRun> run;
  std::function<void(absl::StatusOr<JobResult>)> done;
  std::size_t moves = 0;  // Connection::moves when it began
};

void Client::Begin(Impl& impl, const std::shared_ptr<Flight>& flight, const std::stop_token& stop) {
  flight->moves = impl.connection->moves();
  // For work on a worker thread, which must end with the client too. Work on the client's stream ends with it anyway.
  const auto end_with_client = [&impl, stop](Flight& on_worker) {
    on_worker.either.emplace(impl.closing.source.get_token(), stop);
    on_worker.run->LeaveNothingAfter(on_worker.either->token(), impl.closing);
  };
  const auto complete = [&impl, flight, stop](absl::StatusOr<EndedJob> end) {
    absl::StatusOr<JobResult> result = flight->run->Complete(std::move(end));
    const bool anew = !result.ok() && impl.connection->moves() != flight->moves && WentWithTheDaemon(result.status()) &&
                      !flight->run->options().take_output;
    if (!anew) return flight->done(std::move(result));
    flight->run.emplace(flight->run->Again(stop));
    flight->either.reset();
    Begin(impl, flight, stop);
  };
  const auto ended = [&impl, flight, end_with_client, complete](absl::StatusOr<EndedJob> end) {
    if (!flight->run->has_uploads() && !HasArrays(end)) return complete(std::move(end));
    if (!flight->either) end_with_client(*flight);
    impl.workers.Add([complete, end = std::move(end)] { complete(end); });
  };
  const auto start = [&impl, flight, ended, stop](absl::StatusOr<v1::JobSpec> spec) {
    if (!spec.ok()) return ended(spec.status());
    const std::string request_id = spec->request_id();
    const std::function<void(const std::string&)> on_sent =
        flight->run->options().on_sent;  // the flight may be over soon
    impl.stream().Start(*std::move(spec), flight->run->options().on_update, flight->run->deadline(), stop, ended);
    if (on_sent) on_sent(request_id);
  };
  if (!flight->run->has_uploads()) {
    if (absl::StatusOr<v1::JobSpec> spec = flight->run->Prepare(); spec.ok()) return start(std::move(spec));
  }
  end_with_client(*flight);
  impl.workers.Add([flight, start] { start(flight->run->Prepare()); });
}

void Client::RunAsync(const std::string& kernel, std::map<std::string, Input> inputs, JobOptions options,
                      std::function<void(absl::StatusOr<JobResult>)> done, const Cancellation* cancellation) {
  // Everything captured below ends before the Impl does.
  Impl& impl = *impl_;
  const auto flight = std::make_shared<Flight>();
  const std::stop_token stop = Impl::TokenOf(cancellation);
  const Deadline deadline = JobRun::DeadlineOf(options);
  flight->run.emplace(*impl.connection, kernel, std::move(inputs), std::move(options), stop, deadline);
  flight->done = std::move(done);
  Begin(impl, flight, stop);
}

std::future<absl::StatusOr<JobResult>> Client::RunAsync(const std::string& kernel, std::map<std::string, Input> inputs,
                                                        JobOptions options) {
  auto promise = std::make_shared<std::promise<absl::StatusOr<JobResult>>>();
  std::future<absl::StatusOr<JobResult>> future = promise->get_future();
  RunAsync(kernel, std::move(inputs), std::move(options),
           [promise](absl::StatusOr<JobResult> result) { promise->set_value(std::move(result)); });
  return future;
}

absl::StatusOr<JobResult> Client::Execute(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                          const JobOptions& options, const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  const Deadline deadline = JobRun::DeadlineOf(options);
  const auto once = [&]() -> absl::StatusOr<JobResult> {
    JobRun run(c, kernel, inputs, options, Impl::TokenOf(cancellation), deadline);
    absl::StatusOr<v1::JobSpec> spec = run.Prepare();
    if (!spec.ok()) return spec.status();
    if (SessionKeeps(options)) impl_->stream().Open();
    v1::ExecuteJobRequest request;
    *request.mutable_job() = *std::move(spec);
    v1::ExecuteJobResponse response;
    // Repeated under the same request_id. The job has no deadline of its own here; a daemon that is gone is noticed
    // anyway.
    const absl::Status status = c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncExecute, request, response,
                                       {.no_deadline = true, .until = run.deadline(), .stop = run.stop()});
    if (!status.ok()) return run.Complete(status);
    return run.Complete(EndedJob{response.job_id(), std::move(*response.mutable_end())});
  };
  return options.take_output ? once() : StartingOver(c, once);
}

absl::StatusOr<std::string> Client::Submit(const std::string& kernel, const std::map<std::string, Input>& inputs,
                                           const JobOptions& options, const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  const Deadline deadline = JobRun::DeadlineOf(options);
  return StartingOver(c, [&]() -> absl::StatusOr<std::string> {
    JobRun run(c, kernel, inputs, options, Impl::TokenOf(cancellation), deadline);
    absl::StatusOr<v1::JobSpec> spec = run.Prepare();
    if (!spec.ok()) return spec.status();
    if (run.stop().stop_requested()) {
      run.FreeUploads().IgnoreError();
      return absl::CancelledError("cancelled before the job was sent");
    }
    if (SessionKeeps(options)) impl_->stream().Open();
    v1::SubmitJobRequest request;
    *request.mutable_job() = *std::move(spec);
    v1::SubmitJobResponse response;
    const absl::Status status =
        c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncSubmit, request, response, {.until = run.deadline()});
    // The queued job holds its inputs now.
    if (!IsConnectionLoss(status)) run.FreeUploads().IgnoreError();
    if (!status.ok()) return status;
    if (SessionKeeps(options)) impl_->stream().Open();  // of the daemon that has it, which may be another start
    return response.job_id();
  });
}

absl::StatusOr<v1::JobEnd> Client::Watch(const std::string& job_id,
                                         const std::function<void(const v1::JobUpdate&)>& on_update,
                                         const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the job's id", job_id); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  std::uint64_t last_sequence = 0;
  std::optional<v1::JobEnd> end;
  const auto open = [&](const Target& target, grpc::ClientContext& context, bool again) {
    v1::WatchJobRequest request;
    request.set_job_id(job_id);
    // Ask for the last update once more, if there was one. It is skipped.
    request.set_from_sequence(again && last_sequence > 0 ? last_sequence : last_sequence + 1);
    return target.jobs->Watch(&context, request);
  };
  const auto on_message = [&](v1::WatchJobResponse& response) {
    bool news = false;
    for (const v1::JobUpdate& update : response.updates()) {
      if (update.sequence() != 0 && update.sequence() <= last_sequence) continue;
      news = true;
      last_sequence = std::max<std::uint64_t>(last_sequence, update.sequence());
      if (on_update) on_update(update);
      if (update.has_end()) end = update.end();
    }
    return end ? WatchStep::kDone : news ? WatchStep::kProgress : WatchStep::kNothingNew;
  };
  const absl::Status status = WatchStream<v1::WatchJobResponse>(c, open, on_message, Impl::TokenOf(cancellation));
  if (!status.ok()) return status;
  return *std::move(end);
}

absl::StatusOr<v1::Job> Client::Job(const std::string& job_id, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the job's id", job_id); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::GetJobResponse response;
  const absl::Status status =
      c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncGet, request, response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::SweepOutcome> Client::Sweep(const std::string& job_id, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the job's id", job_id); !text.ok()) return text;
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  request.set_sweep(true);
  v1::GetJobResponse response;
  const absl::Status status = impl_->connection->Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncGet, request,
                                                      response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  if (!response.has_sweep()) {
    return absl::InvalidArgumentError("job " + job_id + " (" + response.job().kernel() +
                                      ") is no sweep: it has one task");
  }
  return std::move(*response.mutable_sweep());
}

absl::StatusOr<std::vector<v1::Job>> Client::Jobs(const v1::ListJobsRequest& request,
                                                  const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest page = request;
  if (page.page_size() == 0) page.set_page_size(1000);
  while (true) {
    v1::ListJobsResponse response;
    const absl::Status status =
        c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncList, page, response, {.stop = Impl::TokenOf(cancellation)});
    if (!status.ok()) return status;
    for (v1::Job& job : *response.mutable_jobs()) jobs.push_back(std::move(job));
    const bool no_progress = response.next_page_token() == page.page_token();
    if (request.page_size() != 0 || response.next_page_token().empty() || no_progress) return jobs;
    page.set_page_token(response.next_page_token());
  }
}

absl::StatusOr<v1::WhyJobResponse> Client::Why(const std::string& job_id, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the job's id", job_id); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  v1::WhyJobRequest request;
  request.set_job_id(job_id);
  v1::WhyJobResponse response;
  const absl::Status status =
      c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncWhy, request, response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::Job> Client::Cancel(const std::string& job_id, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the job's id", job_id); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  v1::CancelJobResponse response;
  const absl::Status status = c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncCancel, request, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return std::move(*response.mutable_job());
}

absl::StatusOr<JobResult> Client::Wait(const std::string& job_id, const Cancellation* cancellation) {
  const absl::StatusOr<v1::JobEnd> end = Watch(job_id, nullptr, cancellation);
  if (!end.ok()) return end.status();
  return Fetch(job_id, nullptr, cancellation);
}

absl::StatusOr<JobResult> Client::Fetch(const std::string& job_id,
                                        const std::function<void(std::uint64_t, std::uint64_t)>& on_download,
                                        const Cancellation* cancellation) {
  JobOptions options;
  options.on_download = on_download;
  return Fetch(job_id, options, cancellation);
}

absl::StatusOr<JobResult> Client::Fetch(const std::string& job_id, const JobOptions& options,
                                        const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the job's id", job_id); !text.ok()) return text;
  const Clock::time_point begin = Clock::now();
  const Connection& c = *impl_->connection;
  v1::FetchResultRequest request;
  request.set_job_id(job_id);
  v1::FetchResultResponse response;
  const TransferRules rules{.stop = Impl::TokenOf(cancellation)};
  const absl::Status status =
      c.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncFetchResult, request, response, {.stop = rules.stop});
  if (!status.ok()) return status;
  if (!IsOver(response.state())) {
    return absl::FailedPreconditionError("job " + job_id + " is " + v1::JobState_Name(response.state()) +
                                         ": it has no result yet; wait for it: hotplate wait " + job_id);
  }
  v1::JobEnd end;
  end.set_state(response.state());
  *end.mutable_error() = response.error();
  end.mutable_result()->Swap(response.mutable_result());
  if (response.has_sweep()) *end.mutable_sweep() = std::move(*response.mutable_sweep());
  if (absl::Status failed = FromJobEnd(end, job_id); !failed.ok()) return failed;
  if (options.on_result)
    if (absl::Status refused = options.on_result(end.result()); !refused.ok()) return refused;

  // A kept array has a name or a lease. A session alone proves nothing: large outputs belong to the session of the
  // caller that ran the job, and wait there for that caller or for us.
  const auto is_kept = [&](const v1::JobResult::Output& output) -> absl::StatusOr<bool> {
    const absl::StatusOr<v1::Array> array = DescribeArray(output.array_id(), cancellation);
    if (absl::IsNotFound(array.status())) return false;  // the download says what that means
    if (!array.ok()) return array.status();
    return !array->name().empty() || array->has_lease_expire_time();
  };
  JobResult result;
  result.job_id = job_id;
  if (end.has_sweep()) result.sweep = std::move(*end.mutable_sweep());
  const absl::Status collected = CollectOutputs(c, end.result(), is_kept, options, rules, result);
  if (!collected.ok()) return AboutJob(collected, job_id);
  result.receipt = std::move(*end.mutable_result()->mutable_receipt());
  result.timings.total = std::chrono::duration_cast<nanoseconds>(Clock::now() - begin);
  return result;
}

void Client::Release(JobResult& result) { FreeAll(*impl_->connection, std::exchange(result.left, {})).IgnoreError(); }

}  // namespace hotplate::client
