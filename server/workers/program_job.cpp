#include "server/workers/program_job.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/run_program.h"
#include "server/workers/process_tree.h"
#include "server/workers/program_text.h"

namespace hotplate::server {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook(20);  // at what asks for a cancel
constexpr std::chrono::seconds kLookAtUse(1);   // of the processor; a hundredth of it is work

// Writes what can be written without waiting.
void Write(Descriptor& to, ProgramStreams& streams) {
  while (streams.input() == ProgramStreams::Input::kWaits) {
    std::string text = streams.NextInput();
    const ssize_t written = write(to.get(), text.data(), text.size());
    if (written < 0 && errno != EAGAIN && errno != EINTR) {  // it reads no more
      streams.DropInput();
      return to.Close();
    }
    const std::size_t done = written < 0 ? 0 : static_cast<std::size_t>(written);
    if (done == text.size()) continue;
    return streams.PutBack(text.substr(done));
  }
}

}  // namespace

std::string ProgramJob::CommandOf(const Program& program) {
  constexpr std::size_t kMost = 512;
  std::string command;
  for (const std::string& word : program.arguments) {
    if (command.size() >= kMost) break;
    absl::StrAppend(&command, command.empty() ? "" : " ", word);
  }
  return command.substr(0, kMost);
}

SharedSpec ProgramJob::SpecOf(Kind kind) {
  const auto made = [](const char* name, const char* summary) {
    return std::make_shared<const KernelSpec>(
        *KernelSpecBuilder(name, summary).NoOutputs().Chunked(static_cast<int>(kGrace.count())).Build());
  };
  static const SharedSpec exec = made("exec", "a program of yours"),
                          python = made("python", "a Python program of yours");
  return kind == Kind::kPython ? python : exec;
}

absl::StatusOr<WarmPythons::Started> ProgramJob::Start(TaskControl& control) {
  const auto give_up = [&control] { return control.cancel_requested(); };
  if (pythons_ != nullptr && kind_ == Kind::kPython && !terminal_) return pythons_->Start(program_, give_up);
  absl::StatusOr<RunningProgram> running = supervisor_.Start(program_, give_up);
  if (!running.ok()) return running.status();
  return WarmPythons::Started{*std::move(running), terminal_ ? "it has a terminal" : ""};
}

core::RunResult ProgramJob::Run(const DeviceInfo& device, const std::vector<core::OutsideInput>&, const Daemon& daemon,
                                TaskControl& control) {
  program_.environment =
      EnvironmentOn(device, device.uuid.empty() ? device.threads_per_lane : program_.threads_beside_gpu,
                    program_.environment, OwnVariables());
  for (std::string& variable : program_.task_variables) program_.environment.push_back(std::move(variable));
  const Steady::time_point start = Steady::now();
  if (!device.host_memory) daemon.give_back();
  const absl::Status shared = kind_ == Kind::kPython ? CheckShared(device) : absl::OkStatus();
  absl::StatusOr<WarmPythons::Started> started = shared.ok() ? Start(control) : shared;
  const Steady::duration start_took = Steady::now() - start;
  const std::string name = program_.arguments.front();
  std::string environment = program_.named_environment;
  if (environment.empty() && kind_ == Kind::kPython) environment = program_.file;
  const std::uint64_t memory_bytes = program_.memory_bytes;
  program_ = Program();  // the job may be listed for an hour; its environment need not be kept
  const absl::StatusOr<ProgramEnd> end = started.ok() ? Attend(started->running, control) : started.status();
  streams_->Over();

  core::RunResult result;
  if (started.ok()) result.report.kernel_ns = static_cast<std::uint64_t>((Steady::now() - start).count());
  if (!end.ok()) {
    result.error = end.status();
  } else {
    result.process = end->use;
    result.process->start = start_took;
    if (kind_ == Kind::kPython) {
      result.process->warm = pythons_ != nullptr && started->why_cold.empty();
      result.process->why_cold = started->why_cold;
    }
    result.process->python_environment = std::move(environment);
    result.error = ErrorOf(*end, name, memory_bytes);
  }
  if (end.ok() && (end->over_memory || end->left > 0)) {
    result.kind = core::RunResult::Kind::kFailed;
  } else if (control.cancel_requested() && (end.ok() || absl::IsCancelled(end.status()))) {
    result.kind = core::RunResult::Kind::kCancelled;
  } else if (!result.error.ok()) {
    result.kind = core::RunResult::Kind::kFailed;
  }
  return result;
}

void ProgramJob::LookAtUse(pid_t program) {
  const Steady::time_point now = Steady::now();
  if (now < next_look_) return;
  next_look_ = now + kLookAtUse;
  std::vector<pid_t> processes = DescendantsOf(program);
  processes.push_back(program);
  const std::chrono::nanoseconds used = ProcessorTime(processes);
  // Of processes that have ended meanwhile nothing is known: then it seems to shrink.
  if (used > processor_time_ + kLookAtUse / 100) last_worked_.store(now.time_since_epoch().count());
  processor_time_ = used;
}

std::optional<core::SteadyTime> ProgramJob::quiet_since() const {
  if (!terminal_) return std::nullopt;
  return std::max(streams_->last_moved(), Steady::time_point(Steady::duration(last_worked_.load())));
}

absl::StatusOr<ProgramEnd> ProgramJob::Attend(RunningProgram& running, TaskControl& control) {
  const Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  streams_->SetWake(&wake);
  const absl::Cleanup forget = [this] { streams_->SetWake(nullptr); };
  std::optional<ProgramEnd> end;
  std::optional<Steady::time_point> asked;
  bool killed = false;
  while (!end) {
    const bool room = streams_->HasRoomForOutput();
    const ProgramStreams::Input input = streams_->input();
    if (input == ProgramStreams::Input::kClosed) running.in.Close();
    pollfd descriptors[] = {{running.control.get(), POLLIN, 0},
                            {room ? running.out.get() : -1, POLLIN, 0},
                            {room ? running.err.get() : -1, POLLIN, 0},
                            {input == ProgramStreams::Input::kWaits ? running.in.get() : -1, POLLOUT, 0},
                            {wake.get(), POLLIN, 0}};
    poll(descriptors, std::size(descriptors), static_cast<int>(kLook.count()));
    eventfd_t ignored;
    eventfd_read(wake.get(), &ignored);
    if (descriptors[1].revents != 0) ReadSome(running.out, OutputStream::kOut, *streams_);
    if (descriptors[2].revents != 0) ReadSome(running.err, OutputStream::kErr, *streams_);
    if (descriptors[3].revents != 0) Write(running.in, *streams_);
    for (const int number : streams_->TakeSignals()) running.Signal(number);
    if (const std::optional<TerminalSize> size = streams_->TakeSize(); size && terminal_) running.Resize(*size);
    if (terminal_) LookAtUse(running.pid);
    if (descriptors[0].revents != 0) {
      absl::StatusOr<ProgramEnd> told = running.End();
      if (!told.ok()) return told.status();
      end = *told;
    }
    if (killed || !control.cancel_requested()) continue;
    if (!asked) {
      running.Signal(SIGINT);
      asked = Steady::now();
    } else if (Steady::now() - *asked >= kGrace) {
      running.Kill();
      killed = true;
    }
  }
  // What its processes have written is in the pipes now. Not until they close: somebody else may hold them, such as a
  // program that it had another service start. It is little, and has no time to wait for a slow client.
  while (running.out && ReadSome(running.out, OutputStream::kOut, *streams_)) {
  }
  while (running.err && ReadSome(running.err, OutputStream::kErr, *streams_)) {
  }
  return *end;
}

absl::Status CheckShared(const DeviceInfo& device) {
  const bool alone = device.mode.find("EXCLUSIVE_PROCESS") != std::string::npos ||
                     device.mode.find("EXCLUSIVE_THREAD") != std::string::npos;
  if (!alone || device.mode.find("MPS") != std::string::npos) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the compute mode of ", device.id, " is ", device.mode,
      ", and the daemon has it: Python of yours cannot use it beside the daemon, unless NVIDIA's MPS runs on "
      "the node or the mode is DEFAULT (nvidia-smi -c DEFAULT, as root); without a GPU it runs with --device "
      "cpu0"));
}

std::vector<std::string> EnvironmentOn(const DeviceInfo& device, int threads, const std::vector<std::string>& client,
                                       const std::vector<std::string>& node, Threads rule) {
  const auto name_of = [](std::string_view variable) { return std::string(variable.substr(0, variable.find('='))); };
  const auto is_nodes = [](std::string_view name) { return name.starts_with("SLURM_") || name == "TMPDIR"; };
  std::map<std::string, std::string> variables;
  for (const std::string& variable : client) {
    const std::string name = name_of(variable);
    if (!is_nodes(name) && !name.starts_with("HOTPLATE_")) variables[name] = variable;
  }
  for (const std::string& variable : node) {
    const std::string name = name_of(variable);
    if (is_nodes(name)) variables[name] = variable;
  }
  const std::string count = std::to_string(std::max(threads, 1));
  for (const char* const name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"}) {
    if (rule == Threads::kAsAsked) variables.erase(name);
    variables.try_emplace(name, absl::StrCat(name, "=", count));
  }
  // Nothing: no GPU at all.
  variables["CUDA_VISIBLE_DEVICES"] = absl::StrCat("CUDA_VISIBLE_DEVICES=", device.uuid);
  if (!device.uuid.empty()) {
    variables.try_emplace("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_PREALLOCATE=false");
  }
  std::vector<std::string> environment;
  for (auto& [name, variable] : variables) environment.push_back(std::move(variable));
  return environment;
}

}  // namespace hotplate::server
