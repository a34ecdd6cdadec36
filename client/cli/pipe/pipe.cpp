#include "client/cli/pipe/pipe.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/pipe/answer_lines.h"
#include "client/cli/pipe/input_lines.h"
#include "client/cli/pipe/job_line.h"
#include "client/cli/pipe/pipe_words.h"
#include "kernels/base/descriptor.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

// Folders of outputs that are remembered as tidied up.
constexpr std::size_t kMostTidied = 1000;

// A job from its line to its end.
struct Flight {
  Ticket ticket;
  JobPlan plan;
  JobInputs inputs;
  JobOutputs files;
  Steady::time_point begin = Steady::now();
};

class Pipe {
 public:
  Pipe(const Invocation& call, std::size_t most) : call_(call), most_(most), lines_(STDIN_FILENO) {}

  absl::Status Run();

 private:
  void Take(const InputLine& text);
  absl::Status Begin(const InputLine& text, Ticket& ticket);
  absl::StatusOr<PreparedJob> Prepare(const JobLine& line);
  absl::StatusOr<v1::KernelSpec> Spec(const std::string& kernel, absl::StatusOr<client::Client>& client);
  // `of_job`: the same error in the client library's words, if the job was sent.
  void Fail(const Ticket& ticket, const absl::Status& status, const absl::Status& of_job = absl::OkStatus());
  // Waits for one of the things that the main thread waits for, and reads input if that is one.
  absl::Status Wait(bool for_input);
  absl::Status Ending(bool interrupted, const absl::Status& input);

  // These run on the library's threads.
  void Update(const Flight& flight, const v1::JobUpdate& update);
  void End(Flight& flight, absl::StatusOr<client::JobResult> result);
  absl::Status Deliver(Flight& flight, absl::StatusOr<client::JobResult> result);
  void Write(const std::string& json);
  void Wake() { eventfd_write(wake_.get(), 1); }

  const Invocation& call_;
  const std::size_t most_;
  const std::vector<OptionSpec> kernel_options_ = JobOptionsOfRun(), expression_options_ = JobOptionsOfEval();
  InputLines lines_;
  AnswerLines answers_;
  const Descriptor wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // ends the poll of the main thread
  client::Cancellation cancellation_;                              // of all jobs
  std::atomic<std::size_t> in_flight_{0};
  std::set<std::string> tidied_;
  std::map<std::string, v1::KernelSpec> specs_;  // that the daemon has told
  std::size_t moves_ = 0;                        // Client::moves when it told the first of them
  std::size_t taken_ = 0;                        // lines

  Mutex mutex_;
  std::string last_notice_ ABSL_GUARDED_BY(mutex_);
  std::size_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<std::pair<Ticket, absl::Status>> first_failure_ ABSL_GUARDED_BY(mutex_);

  // The last member: it goes first, and with it the threads that call back.
  std::optional<client::Client> client_;
};

absl::Status Pipe::Run() {
  InterruptWatch interrupt([this] {
    cancellation_.Cancel();
    Wake();
  });
  signal(SIGPIPE, SIG_IGN);  // a write tells it
  auto client = call_.Connect();
  if (!client.ok()) return client.status();
  client_ = *std::move(client);
  interrupt.Begin();

  absl::Status input;
  while (input.ok() && !interrupt.interrupted() && !answers_.broken()) {
    const bool room = in_flight_ < most_;
    const auto line = room ? lines_.Next() : std::nullopt;
    if (line) {
      Take(*line);
    } else if (room && lines_.ended()) {
      break;
    } else {
      input = Wait(/*for_input=*/room);
    }
  }
  while (in_flight_ > 0) {
    if (answers_.broken()) cancellation_.Cancel();  // nobody hears of them
    Wait(/*for_input=*/false).IgnoreError();
  }
  return Ending(interrupt.interrupted(), input);
}

absl::Status Pipe::Wait(bool for_input) {
  // Nothing is asked of standard output: poll tells anyway that its reader has gone.
  pollfd descriptors[] = {{wake_.get(), POLLIN, 0},
                          {for_input ? STDIN_FILENO : -1, POLLIN, 0},
                          {answers_.broken() ? -1 : STDOUT_FILENO, 0, 0}};
  if (poll(descriptors, 3, -1) < 0) return absl::OkStatus();
  if (eventfd_t count = 0; descriptors[0].revents != 0) eventfd_read(wake_.get(), &count);
  if (descriptors[2].revents != 0) answers_.Break();
  return descriptors[1].revents != 0 ? lines_.Fill() : absl::OkStatus();
}

void Pipe::Take(const InputLine& text) {
  if (!text.too_long && text.text.find_first_not_of(" \t\r") == std::string::npos) return;
  ++taken_;
  Ticket ticket{text.number, std::to_string(text.number)};
  absl::Status status = Begin(text, ticket);
  // The command line is not what is wrong.
  if (IsUsageError(status)) status = absl::InvalidArgumentError(status.message());
  if (!status.ok()) Fail(ticket, status);
}

absl::Status Pipe::Begin(const InputLine& text, Ticket& ticket) {
  if (text.too_long)
    return absl::InvalidArgumentError("the line is longer than " + std::to_string(InputLines::kLongest) + " bytes");
  JobLine line;
  const absl::Status read = ReadJobLine(text.text, line);
  if (!line.tag.empty()) ticket.tag = line.tag;
  if (!read.ok()) return read;
  auto job = Prepare(line);
  if (!job.ok()) return Settled(job.status());
  if (tidied_.size() > kMostTidied) tidied_.clear();
  auto files = JobOutputs::Open(job->plan.outputs, kMostValues, &tidied_);
  if (!files.ok()) return NotRun(files.status(), job->plan.kernel);
  if (const absl::Status status = CheckPictures(*job, *files); !status.ok())
    return NamingFiles(Settled(status), job->plan.inputs);
  if (absl::Status status = job->inputs.Load(); !status.ok()) return status;

  const auto flight =
      std::make_shared<Flight>(Flight{ticket, std::move(job->plan), std::move(job->inputs), *std::move(files)});
  client::JobOptions options = flight->plan.options;
  options.on_update = [this, flight](const v1::JobUpdate& update) { Update(*flight, update); };
  options.take_output = [flight](const std::string& output, const Signature& signature, std::uint64_t offset,
                                 std::span<const std::byte> piece) {
    return flight->files.Take(output, signature, offset, piece);
  };
  options.leave_result = true;  // until the files are in place
  ++in_flight_;
  client_->RunAsync(
      flight->plan.kernel.name(), flight->inputs.Inputs(), std::move(options),
      [this, flight](absl::StatusOr<client::JobResult> result) { End(*flight, std::move(result)); }, &cancellation_);
  return absl::OkStatus();
}

absl::StatusOr<PreparedJob> Pipe::Prepare(const JobLine& line) {
  absl::StatusOr<client::Client> client = *client_;
  if (line.kernel.empty()) {
    const auto words = WordsOfExpression(line);
    if (!words.ok()) return words.status();
    return PrepareText(expression_options_, *words, [&client] { return client; });
  }
  const auto kernel = Spec(line.kernel, client);
  if (!kernel.ok()) return kernel.status();
  const auto words = WordsOf(line, *kernel);
  if (!words.ok()) return words.status();
  return PrepareKernel(*kernel, kernel_options_, *words, client);
}

absl::StatusOr<v1::KernelSpec> Pipe::Spec(const std::string& kernel, absl::StatusOr<client::Client>& client) {
  if (std::exchange(moves_, client_->moves()) != client_->moves()) specs_.clear();
  if (const auto known = specs_.find(kernel); known != specs_.end()) return known->second;
  auto spec = SpecOf(kernel, client);
  if (spec.ok() && client.ok()) specs_.emplace(kernel, *spec);
  return spec;
}

void Pipe::Update(const Flight& flight, const v1::JobUpdate& update) {
  if (!update.has_notice()) {
    if (const std::string json = UpdateLine(flight.ticket, update); !json.empty()) Write(json);
    return;
  }
  // Every job in flight gets it.
  const MutexLock lock(mutex_);
  if (update.notice().text() == last_notice_ || call_.arguments.Flag("quiet")) return;
  last_notice_ = update.notice().text();
  Remark(call_.console, last_notice_);
}

void Pipe::End(Flight& flight, absl::StatusOr<client::JobResult> result) {
  const absl::Status of_job = result.status();
  if (const absl::Status status = Deliver(flight, std::move(result)); !status.ok()) Fail(flight.ticket, status, of_job);
  --in_flight_;
  Wake();
}

absl::Status Pipe::Deliver(Flight& flight, absl::StatusOr<client::JobResult> result) {
  const JobPlan& plan = flight.plan;
  if (!result.ok()) {
    if (const absl::Status status = flight.files.take_error(); !status.ok())
      return NotDelivered(status, plan, client::JobIdOf(result.status()));
    return NotCompleted(result.status(), plan, flight.files, Steady::now() - flight.begin);
  }
  const std::string job_id = result->job_id;
  auto placed = PlaceOutputs(plan.kernel, flight.files, *std::move(result));
  if (!placed.ok()) return client::AboutJob(NotDelivered(placed.status(), plan, job_id), job_id);
  // Under a request id the same call made again finds it.
  if (plan.options.request_id.empty()) client_->Release(placed->result);
  Write(CompletedLine(flight.ticket, *placed, flight.files));
  return absl::OkStatus();
}

void Pipe::Fail(const Ticket& ticket, const absl::Status& status, const absl::Status& of_job) {
  {
    const MutexLock lock(mutex_);
    ++failed_;
    if (!first_failure_) first_failure_.emplace(ticket, status);
  }
  Write(FailedLine(ticket, status, of_job));
}

void Pipe::Write(const std::string& json) {
  if (!answers_.Write(json)) Wake();
}

absl::Status Pipe::Ending(bool interrupted, const absl::Status& input) {
  const MutexLock lock(mutex_);
  const std::string counts = std::to_string(failed_) + " of " + std::to_string(taken_) +
                             (taken_ == 1 ? " job" : " jobs") + " did not complete";
  if (interrupted) return Answered(Interrupted(counts + "; what was not read of standard input was not run"));
  if (answers_.broken())
    return Answered(WithExitCode(absl::DataLossError("standard output cannot be written to; " + counts), kExitFailed));
  if (!input.ok())
    return Answered(WithExitCode(Worded(input, std::string(input.message()) + "; " + counts), kExitFailed));
  if (!first_failure_) return absl::OkStatus();
  const auto& [ticket, status] = *first_failure_;
  const std::string told = counts + "; the first, line " + std::to_string(ticket.line) + ", tag " + ticket.tag + ": " +
                           std::string(status.message());
  if (client::ConnectionLost(status)) return Answered(Worded(status, told));
  // "refused" would be said of the command as a whole.
  Remark(call_.console, told);
  return Silent(ExitCodeOf(status));
}

}  // namespace

absl::Status RunPipe(const Invocation& call) {
  const auto most = MostInFlight(call);
  if (!most.ok()) return most.status();
  return Pipe(call, *most).Run();
}

}  // namespace hotplate::cli
