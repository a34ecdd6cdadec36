#include "server/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "kernels/devices/device.h"
#include "server/control.h"
#include "server/description.h"
#include "server/devices.h"
#include "server/endpoint.h"
#include "server/log.h"
#include "server/net/addresses.h"
#include "server/net/listening_socket.h"
#include "server/net/tls.h"
#include "server/saved/held_notes.h"
#include "server/saved/job_ids.h"
#include "server/saved/last_words.h"
#include "server/saved/saved_arrays.h"
#include "server/service/grpc_server.h"
#include "server/slurm/allocation.h"
#include "server/slurm/allocation_end.h"
#include "server/slurm/kill_wait.h"
#include "server/spare_memory.h"
#include "server/version.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

using core::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kTick = seconds(1);
// For arrays when nothing else goes on.
constexpr nanoseconds kLongestSaving = std::chrono::minutes(5);
// Before the allocation's end the drain has to be over: for what comes after the jobs, and clocks that differ.
constexpr nanoseconds kEndMargin = seconds(15);
constexpr nanoseconds kLongestLastDrain = std::chrono::minutes(2);
// At a time limit and at scancel Slurm sends SIGTERM twice, milliseconds apart: such a pair is one signal.
constexpr nanoseconds kOneSignal = seconds(3);
// How long the last look at the allocation's end may hold the drain up.
constexpr nanoseconds kLastLook = seconds(5);

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "hotplated: %s\n", std::string(status.message()).c_str());
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists:
      return kExitNameTaken;
    case absl::StatusCode::kPermissionDenied:
      return kExitNotPrivate;
    default:
      return kExitCannotStart;
  }
}

class Daemon {
 public:
  Daemon(const Config& config, const Surroundings& surroundings) : config_(config), surroundings_(surroundings) {}

  absl::Status Start();
  // After a start that failed: what it had taken is free again.
  void GiveUp();
  void Serve();

 private:
  absl::Status OpenDevices();
  absl::Status Listen();
  absl::Status ListenWithin(const PortRange& ports, ListenOptions options);
  absl::Status Publish(const std::string& listen, std::uint16_t port);
  ServiceContext::Parts Parts() const;
  SelfFacts Facts() const { return {config_, allocation_, generation_, start_time_}; }
  void FollowAllocation();
  absl::Status OpenJobIds();
  void EndChanged(std::optional<core::WallTime> before, core::WallTime now);
  void AskWhenItIsKilled(const std::stop_token& stop);
  LastMoments Moments() const;
  // Until the allocation's end, less the margin; negative too. Nothing: no end is known.
  std::optional<nanoseconds> Left() const;
  bool EndIsNear(nanoseconds& left);
  std::string WhenItEnds() const { return "the allocation ends at " + UtcText(*end_->Get()); }
  nanoseconds TimeToSaveWhenIdle() const;
  nanoseconds TimeoutOf(const Control::Wish& wish) const;
  // Does not return if the daemon leaves. `saving`: how long arrays may be saved, if that is longer than the drain.
  void Drain(nanoseconds timeout, const std::string& reason, bool leave, nanoseconds saving = {});
  void TellWhatWasSaved();
  void SayGoodbye();
  Control::Wish ListenUntil(core::SteadyTime last);
  void Signalled();
  [[noreturn]] void Leave();

  const Config& config_;
  const Surroundings& surroundings_;
  const core::WallTime start_time_ = std::chrono::system_clock::now();
  const core::Clock clock_;
  Allocation allocation_;
  std::shared_ptr<spdlog::logger> log_;
  std::optional<EndpointSlot> slot_;
  std::optional<Identity> identity_, client_identity_;  // both or none
  std::string generation_, secret_;
  std::shared_ptr<const Authenticator> authenticator_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<JobIds> job_ids_;
  // In the order of their making; each refers to those before it.
  std::unique_ptr<core::ArrayStore> arrays_;
  std::unique_ptr<core::Engine> engine_;
  std::unique_ptr<core::TelemetrySampler> telemetry_;
  std::unique_ptr<ServiceContext> context_;
  std::unique_ptr<GrpcServer> server_;
  SocketFile socket_file_;
  std::unique_ptr<ArraySaver> saver_;
  SavedArrays saved_;
  std::string end_reason_;

  std::optional<core::SteadyTime> signalled_;                        // first told to stop
  std::optional<core::SteadyTime> gone_by_;                          // then, where somebody kills
  std::atomic<nanoseconds> kill_wait_{nanoseconds(kSlurmKillWait)};  // from a signal of the batch system's to its KILL
  bool kill_wait_known_ = false;                                     // this and the next of the thread that asks Slurm
  KillWaitTries kill_wait_tries_;
  // Of the main thread: what is kept of memory, the warnings, and what Slurm had answered, and when it was asked once
  // more before the end.
  EndWarnings warnings_;
  SpareMemory spare_memory_;
  std::optional<std::pair<std::uint64_t, core::SteadyTime>> last_look_;
  std::optional<JobIds::LastWords> last_words_;  // once they are known
  std::vector<core::JobId> active_at_drain_;

  std::mutex record_mutex_;
  std::optional<v1::EndpointRecord> record_;  // as published; guarded by record_mutex_
  std::unique_ptr<AllocationEnd> end_;        // its thread uses what stands before it
  std::unique_ptr<HeldNotes> held_notes_;     // so does this one's
};

absl::Status Daemon::Start() {
  allocation_ = ReadAllocation(surroundings_);
  // Slurm numbers GPUs as the bus does; CUDA by itself begins with the fastest, which on a node of several kinds would
  // be another's. There are no threads yet.
  if (allocation_.system == BatchSystem::kSlurm) setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", /*replace=*/0);
  Tenancy tenancy;
  if (!allocation_.empty()) tenancy = {allocation_.cluster + "/" + allocation_.job_id, allocation_.restart_count};
  absl::StatusOr<EndpointSlot> slot = EndpointSlot::Claim(config_.directory, config_.name, tenancy);
  if (!slot.ok()) return slot.status();
  slot_.emplace(*std::move(slot));
  auto log = OpenLog(config_.log_file, config_.log_level);
  if (!log.ok()) return log.status();
  log_ = *std::move(log);
  RouteGrpcLog(log_);
  auto control = Control::Create();
  if (!control.ok()) return control.status();
  control_ = *std::move(control);
  if (const std::string job = AllocationElsewhere(surroundings_); !job.empty()) {
    log_->warn("this is a shell of job {}, but none of its nodes: a daemon by hand; srun or jsrun starts it there",
               job);
  }
  FollowAllocation();

  if (!config_.insecure) {
    for (const auto& [role, made] : {std::pair(Role::kDaemon, &identity_), {Role::kClient, &client_identity_}}) {
      absl::StatusOr<Identity> identity = MakeIdentity(role);
      if (!identity.ok()) return identity.status();
      *made = *std::move(identity);
    }
  }
  const absl::StatusOr<std::string> generation = RandomHex(8), secret = RandomHex(32);
  if (!generation.ok()) return generation.status();
  if (!secret.ok()) return secret.status();
  generation_ = *generation;
  secret_ = *secret;
  authenticator_ =
      std::make_shared<const Authenticator>(std::vector<Token>{{kOwnerToken, secret_, core::Scope::kAdmin}});
  if (absl::Status status = OpenJobIds(); !status.ok()) return status;
  if (absl::Status status = OpenDevices(); !status.ok()) return status;
  return Listen();
}

void Daemon::GiveUp() {
  if (job_ids_ != nullptr) job_ids_->End(0, std::nullopt).IgnoreError();
}

absl::Status Daemon::OpenJobIds() {
  v1::DaemonLife life;
  life.set_name(config_.name);
  life.set_generation(generation_);
  life.set_node(NodeName());
  wire::ToProto(start_time_, *life.mutable_start_time());
  absl::StatusOr<std::unique_ptr<JobIds>> ids = JobIds::Open(config_.directory, std::move(life));
  if (!ids.ok()) return ids.status();
  job_ids_ = *std::move(ids);
  return absl::OkStatus();
}

absl::Status Daemon::OpenDevices() {
  std::uint64_t host_bytes = 0;
  absl::StatusOr<DeviceSet> devices = ChooseDevices(
      config_, allocation_, BuiltinCatalog(), [log = log_](const std::string& line) { log->warn("{}", line); },
      host_bytes);
  if (!devices.ok()) return devices.status();
  for (const std::string& source : devices->sources) log_->info("{}", source);
  for (const std::string& note : devices->notes) log_->info("{}", note);
  for (const auto& device : devices->devices) {
    const DeviceInfo& info = device->info();
    log_->info("device {}: {}, {} lanes of {} threads", info.id, info.name, info.lanes, info.threads_per_lane);
  }

  core::ArrayLimits limits;
  limits.total_bytes = config_.array_bytes != 0 ? config_.array_bytes : host_bytes / 4 * 3;
  limits.array_bytes = config_.max_array_bytes != 0 ? config_.max_array_bytes : limits.total_bytes;
  limits.longest_lease = config_.longest_lease;
  arrays_ = std::make_unique<core::ArrayStore>(limits, clock_);
  SpareMemory::Keep(host_bytes / 16);

  core::EngineOptions options;
  const absl::StatusOr<core::NumberBlock> numbers = job_ids_->Claim(core::JobNumbers::kFirstSize);
  if (!numbers.ok()) return numbers.status();
  options.first_numbers = *numbers;
  options.claim_numbers = [this](std::uint64_t size) { return job_ids_->Claim(size); };
  options.queued_jobs = config_.queue;
  options.inline_bytes = config_.inline_bytes;
  options.result_retention = config_.result_retention;
  options.retained_jobs = config_.retained_jobs;
  options.retained_bytes = config_.retained_bytes;
  options.disconnect_grace = config_.disconnect_grace;
  options.max_sessions = config_.max_sessions;
  options.max_streams = config_.max_streams;
  options.session_timeout = config_.session_timeout;
  options.log_level = LevelOf(log_->level());
  options.log = [log = log_](core::LogLevel level, const std::string& line) { log->log(LevelOf(level), "{}", line); };
  options.allocation_end = [this] { return end_->Get(); };
  options.end_margin = kEndMargin;
  engine_ = std::make_unique<core::Engine>(std::move(options), BuiltinCatalog(), *std::move(devices), *arrays_, clock_);
  telemetry_ = std::make_unique<core::TelemetrySampler>(*engine_, clock_);
  ArraySaver::Options saving{SavedArraysFolder(config_), generation_, {config_.saved_age, config_.saved_bytes}};
  saving.log = [log = log_](const SavedArrays::One& one) {
    if (one.file.empty()) {
      log->warn("array {} ({}) is not saved: {}", one.name, one.id.value(), one.why_not);
    } else {
      log->info("array {} ({}) is saved: {}", one.name, one.id.value(), one.file);
    }
  };
  saving.dropped = [log = log_](const std::string& file, const std::string& why) {
    log->info("saved array dropped: {}, {}", file, why);
  };
  saver_ = std::make_unique<ArraySaver>(*arrays_, std::move(saving));
  return absl::OkStatus();
}

ServiceContext::Parts Daemon::Parts() const {
  ServiceContext::Parts parts;
  parts.engine = engine_.get();
  parts.telemetry = telemetry_.get();
  parts.authenticator = authenticator_;
  parts.control = control_.get();
  parts.bounds.max_array_bytes = arrays_->limits().array_bytes;
  std::vector<std::string> missing;
  parts.bounds.output_mode = 0666 & ~surroundings_.umask;
  parts.bounds.path_roots = wire::CanonicalRoots(config_.path_roots, &missing);
  for (const std::string& root : config_.path_roots) {
    if (std::find(missing.begin(), missing.end(), root) == missing.end())
      parts.bounds.named_roots.push_back((std::filesystem::path(root) / "").lexically_normal().parent_path().string());
  }
  for (const std::string& root : missing) {
    log_->warn("path-root {} is not a folder that can be reached, so no file by path can be read or written there",
               Quoted(root));
  }
  for (const auto& device : engine_->devices()) parts.facts.devices[device->info().id] = device->info();
  parts.info = DescribeServer(Facts(), *engine_);
  parts.allocation_end = [this] { return end_->Get(); };
  parts.facts.versions = parts.info.versions();
  if (std::optional<v1::DaemonLife> before = job_ids_->Before()) *parts.info.mutable_before() = *std::move(before);
  parts.room_to_save = [this] { return saver_->room(); };
  parts.whose_job = [this](const std::string& id) { return job_ids_->WhoseJob(id); };
  return parts;
}

absl::Status Daemon::Listen() {
  context_ = std::make_unique<ServiceContext>(Parts());
  ListenOptions options;
  options.address = config_.listen;
  if (config_.unix_socket.empty() && !config_.interface.empty()) {
    absl::StatusOr<std::string> address = AddressOfInterface(config_.interface);
    if (!address.ok()) return address.status();
    options.address = *std::move(address);
  }
  options.unix_socket = config_.unix_socket;
  options.identity = identity_;
  if (client_identity_) options.client_certificate_pem = client_identity_->certificate_pem;
  options.message_bytes = config_.message_bytes;
  options.keepalive = config_.keepalive;
  options.warn = [log = log_](const std::string& line) { log->warn("{}", line); };
  if (absl::Status status = ListenWithin(config_.port, options); !status.ok()) return status;
  server_->SetServing(true);
  return Publish(options.address, server_->port());
}

// Begins anywhere in the range: daemons that start at the same moment are less in each other's way.
absl::Status Daemon::ListenWithin(const PortRange& ports, ListenOptions options) {
  const bool range = options.unix_socket.empty() && ports.last > ports.first;
  const unsigned count = range ? ports.last - ports.first + 1U : 1;
  const unsigned start = range ? std::random_device()() % count : 0;
  absl::Status why;
  for (unsigned i = 0; i < count; ++i) {
    options.port = static_cast<std::uint16_t>(ports.first + (start + i) % count);
    absl::StatusOr<std::unique_ptr<GrpcServer>> server = GrpcServer::Start(*context_, options);
    if (server.ok()) {
      server_ = *std::move(server);
      return absl::OkStatus();
    }
    why = server.status();
  }
  if (!range) return why;
  return absl::UnavailableError(
      ToAbsl(fmt::format("no port from {} to {} is free on {} (the last tried: {}); give --listen or --port another "
                         "value, or 0 for any port",
                         ports.first, ports.last, options.address, std::string(why.message()))));
}

absl::Status Daemon::Publish(const std::string& listen, std::uint16_t port) {
  socket_file_ = SocketFile(config_.unix_socket);
  const std::vector<std::string> addresses =
      config_.unix_socket.empty()
          ? ReachableAddresses(listen, {{allocation_.node, NodeName()}, allocation_.submit_host})
          : std::vector<std::string>{"unix:" + config_.unix_socket};
  v1::EndpointRecord record = DescribeEndpoint(Facts(), addresses, port);
  if (identity_) {
    record.set_certificate_pem(identity_->certificate_pem);
    record.set_client_certificate_pem(client_identity_->certificate_pem);
    record.set_client_key_pem(client_identity_->key_pem);
  }
  record.set_token(secret_);
  {
    const std::scoped_lock lock(record_mutex_);
    record_ = std::move(record);
    if (const auto end = end_->Get()) wire::ToProto(*end, *record_->mutable_allocation_end_time());
    if (absl::Status status = slot_->Publish(*record_); !status.ok()) return status;
  }
  log_->info("serving \"{}\" at {}{} (hotplated {}, pid {}{}), record {}", config_.name, addresses[0],
             port != 0 ? fmt::format(":{}", port) : std::string(), kVersion, getpid(),
             config_.insecure ? ", without TLS" : "", slot_->record_path());
  return absl::OkStatus();
}

void Daemon::FollowAllocation() {
  AllocationEnd::Options options;
  options.known = allocation_.end_time;
  if (allocation_.system == BatchSystem::kLsf) kill_wait_ = nanoseconds(kLsfKillWait);
  if (allocation_.system == BatchSystem::kSlurm && config_.squeue_interval.count() > 0) {
    options.interval = std::max<nanoseconds>(config_.squeue_interval, seconds(1));
  }
  options.ask = [this](const std::stop_token& stop) { return AskSqueue(allocation_.job_id, stop); };
  options.then = [this](const std::stop_token& stop) { AskWhenItIsKilled(stop); };
  options.changed = [this](std::optional<core::WallTime> before, core::WallTime now) { EndChanged(before, now); };
  options.failed = [this](const absl::Status& why) {
    log_->warn("{}; {}, and Slurm is asked again every {}", std::string(why.message()),
               end_->Get() ? "the allocation's end may have changed" : "when the allocation ends is not known",
               DurationText(config_.squeue_interval));
  };
  end_ = std::make_unique<AllocationEnd>(std::move(options));
  if (const auto end = end_->Get()) log_->info("allocation {} ends at {}", allocation_.job_id, UtcText(*end));
  end_->Start();
}

// On the thread that asks Slurm.
void Daemon::AskWhenItIsKilled(const std::stop_token& stop) {
  if (kill_wait_known_ || !kill_wait_tries_.Due(clock_.Now())) return;
  const absl::StatusOr<nanoseconds> wait = AskKillWait(stop);
  if (!wait.ok()) {
    log_->info("{}; Slurm's KillWait is taken for {}", std::string(wait.status().message()),
               DurationText(kill_wait_.load()));
    return;
  }
  kill_wait_known_ = true;
  kill_wait_ = *wait;
  const auto jobs = std::chrono::floor<std::chrono::milliseconds>(Divide(*wait).jobs);
  if (jobs >= config_.drain_timeout) return;
  log_->warn("Slurm kills {} after SIGTERM (its KillWait): jobs have {} then, not the drain timeout of {}",
             DurationText(*wait), DurationText(jobs), DurationText(config_.drain_timeout));
}

LastMoments Daemon::Moments() const {
  return Divide(signalled_ && !allocation_.empty() ? kill_wait_.load() : nanoseconds(kSlurmKillWait));
}

std::optional<nanoseconds> Daemon::Left() const {
  const std::optional<core::WallTime> end = end_->Get();
  if (!end) return std::nullopt;
  return *end - clock_.WallNow() - kEndMargin;
}

// On the thread that asks Slurm. Whoever reads the record later is to see the new end too.
void Daemon::EndChanged(std::optional<core::WallTime> before, core::WallTime now) {
  log_->info("allocation {} ends at {}{}", allocation_.job_id, UtcText(now),
             before ? ", no longer at " + UtcText(*before) : "");
  const std::scoped_lock lock(record_mutex_);
  if (!record_) return;  // not published yet
  wire::ToProto(now, *record_->mutable_allocation_end_time());
  if (absl::Status status = slot_->Update(*record_); !status.ok()) {
    log_->warn("the record keeps the old end: {}", std::string(status.message()));
  }
}

// True: it is time to drain, and `left` what there is for it.
bool Daemon::EndIsNear(nanoseconds& left) {
  const std::optional<nanoseconds> until_margin = Left();
  if (!until_margin) return false;
  left = *until_margin + kEndMargin;
  if (warnings_.Due(left)) {
    const std::string text = WhenItEnds() + ": what runs then is cancelled";
    log_->warn("{}; {} are left", text, DurationText(std::chrono::ceil<seconds>(std::max(left, nanoseconds(0)))));
    engine_->Announce(text, std::max(0.0, std::chrono::duration<double>(left).count()));
  }
  left -= kEndMargin;
  if (left > std::min(config_.drain_timeout, kLongestLastDrain)) {
    last_look_.reset();
    return false;
  }
  left = std::max(left, nanoseconds(0));
  // The end may have been put off since Slurm was last asked; the daemon itself may have been suspended.
  if (!last_look_) {
    if (!end_->Refresh()) return true;
    last_look_ = {end_->answers(), clock_.Now()};
    return false;
  }
  return end_->answers() != last_look_->first || clock_.Now() - last_look_->second >= kLastLook;
}

void Daemon::Serve() {
  log_->info("{}", WhenUnused(config_));
  held_notes_ = std::make_unique<HeldNotes>(*engine_, *job_ids_, *saver_,
                                            [log = log_](const std::string& why) { log->warn("{}", why); });
  const std::string idle = "idle for " + DurationText(config_.idle_timeout) + ": no job, upload or download";
  for (;;) {
    const Control::Wish wish = control_->Wait(kTick);
    switch (wish.kind) {
      case Control::Wish::Kind::kSignal:
        Signalled();
        [[fallthrough]];
      case Control::Wish::Kind::kShutdown:
        return Drain(TimeoutOf(wish), wish.reason, true);
      case Control::Wish::Kind::kDrain:
        Drain(TimeoutOf(wish), wish.reason, false);
        break;
      case Control::Wish::Kind::kFinished:
      case Control::Wish::Kind::kNone:
        break;
    }
    server_->RefreshHealth();
    spare_memory_.GiveBack(clock_.Now(), engine_->Status().idle);
    if (nanoseconds left{}; EndIsNear(left)) return Drain(left, WhenItEnds(), true);
    if (config_.idle_timeout.count() > 0 && engine_->DrainIfIdle(config_.idle_timeout, idle)) {
      // Nobody waits, and the arrays' owner is not here to be asked: what takes long to save may take long.
      return Drain(TimeoutOf({}), idle, true, TimeToSaveWhenIdle());
    }
  }
}

// Nothing is granted that the allocation does not last for.
nanoseconds Daemon::TimeoutOf(const Control::Wish& wish) const {
  const bool signal = wish.kind == Control::Wish::Kind::kSignal;
  nanoseconds timeout = wish.timeout.value_or(config_.drain_timeout);
  if (signal && !allocation_.empty()) timeout = std::min(timeout, Divide(kill_wait_).jobs);
  const std::optional<nanoseconds> left = Left();
  if (!left) return timeout;
  if (*left > nanoseconds(0)) return std::min(timeout, *left);
  return signal ? timeout : nanoseconds(0);
}

nanoseconds Daemon::TimeToSaveWhenIdle() const {
  return std::clamp(Left().value_or(kLongestSaving), nanoseconds(0), kLongestSaving);
}

// On other threads while this one listens: a second signal, or the very last moment, ends the process. Arrays are saved
// from the start, since what is complete does not change any more, and those that jobs still make at the end.
void Daemon::Drain(nanoseconds timeout, const std::string& reason, bool leave, nanoseconds saving) {
  end_reason_ = reason;
  control_->StartDraining();
  server_->SetServing(false);
  const auto announce = [this](nanoseconds left, const std::string& why) {
    log_->info("draining: {}; jobs and transfers have {}", why,
               DurationText(std::chrono::ceil<std::chrono::milliseconds>(left)));
    engine_->Announce("the daemon is draining: " + why, static_cast<double>(left.count()) * 1e-9);
  };
  announce(timeout, reason);
  core::SteadyTime end = clock_.Now() + timeout;
  core::SteadyTime saving_end = std::max(end + Moments().after, clock_.Now() + saving);
  // Here, so that whatever shortens it comes after it.
  engine_->BeginDrain(timeout, reason);
  if (active_at_drain_.empty()) active_at_drain_ = ActiveJobs(*engine_);
  if (leave) saver_->Start(saving_end);
  std::thread drainer([this] {
    const bool all_ended = engine_->AwaitDrained();
    log_->info("drained: {}{}", all_ended ? "every job ended by itself" : "jobs were cancelled",
               arrays_->HasUnread() ? "; results are lost that nobody came for" : "");
    control_->Finished();
  });
  // What else is wished for while `last` has not passed; true when what goes on is done.
  const auto finished = [&](core::SteadyTime last) {
    Control::Wish wish = ListenUntil(last + Moments().resort);
    if (wish.kind == Control::Wish::Kind::kFinished) return true;
    nanoseconds given = TimeoutOf(wish), slack{};
    if (wish.kind == Control::Wish::Kind::kNone) {
      // The allocation's end is looked at here too: it may come nearer. What Slurm's signal at the end was granted
      // stays.
      if (!EndIsNear(given) || (signalled_ && given == nanoseconds(0))) return false;
      wish = {Control::Wish::Kind::kShutdown, std::nullopt, WhenItEnds()};
      slack = kTick;  // the same end, seen once more, is no news
    }
    // Somebody has less time than the drain was given, or more, which is not granted.
    leave = leave || wish.kind != Control::Wish::Kind::kDrain;
    const core::SteadyTime wished = clock_.Now() + given;
    if (wished + slack < end) {
      end = wished;
      announce(given, wish.reason);
      engine_->ShortenDrain(given);
    }
    saving_end = std::min(saving_end, std::max(wished, end) + Moments().after);
    if (!leave) return false;
    if (!saver_->started()) saver_->Start(saving_end);
    saver_->Shorten(saving_end);
    return false;
  };
  while (!finished(end)) {
  }
  drainer.join();
  if (!leave) return;

  std::thread finisher([this] {
    saved_ = saver_->Finish();
    control_->Finished();
  });
  while (!finished(saving_end)) {
  }
  finisher.join();
  // First, should the file system take its time with what older daemons left.
  TellWhatWasSaved();
  std::thread tidier([this] {
    if (const std::string why_not = saver_->DropOld(); !why_not.empty()) log_->warn("{}", why_not);
    control_->Finished();
  });
  while (!finished(saving_end)) {
  }
  tidier.join();
  SayGoodbye();
}

void Daemon::TellWhatWasSaved() {
  std::vector<std::string> saved, dropped;
  for (const SavedArrays::One& one : saved_.all) (one.file.empty() ? dropped : saved).push_back(one.name);
  if (!saved.empty()) engine_->Announce("saved in " + SavedArraysFolder(config_) + ": " + Listed(saved), std::nullopt);
  if (!dropped.empty())
    engine_->Announce("could not be saved, and go with the daemon: " + Listed(dropped), std::nullopt);
}

void Daemon::SayGoodbye() {
  const nanoseconds time = Moments().goodbye;
  std::thread goodbye([this, time] {
    server_->Shutdown(clock_.WallNow() + std::chrono::duration_cast<core::WallTime::duration>(time));
    end_->Stop();
    control_->Finished();
  });
  while (ListenUntil(clock_.Now() + time + Moments().resort).kind != Control::Wish::Kind::kFinished) {
  }
  goodbye.join();
  last_words_ = {
      .held = WhatIsDropped(*engine_, saved_, active_at_drain_), .saved = WhatIsSaved(saved_), .reason = end_reason_};
  if (!last_words_->held.empty()) log_->info("dropped with this daemon: {}", last_words_->held);
  Leave();
}

// The next wish, or none after a while. Leaves at once if `last` passes first, or if this is the second signal: the
// first may be that of a batch system, about a drain that has begun without it.
Control::Wish Daemon::ListenUntil(core::SteadyTime last) {
  if (gone_by_) last = std::min(last, *gone_by_ - Moments().last);
  Control::Wish wish = control_->Wait(std::clamp<nanoseconds>(last - clock_.Now(), nanoseconds(0), kTick));
  const core::SteadyTime now = clock_.Now();
  if (wish.kind == Control::Wish::Kind::kSignal) {
    if (!signalled_) {
      Signalled();
    } else if (wish.reason == "SIGINT" || now - *signalled_ >= kOneSignal) {
      log_->warn("{} again while draining: leaving at once", wish.reason);
      Leave();
    } else {
      wish = {};
    }
  }
  if (wish.kind == Control::Wish::Kind::kNone && now >= last) {
    log_->warn("something still runs after the drain timeout: leaving");
    Leave();
  }
  return wish;
}

// The first time. Each of the last moments is bounded where it is waited for; together they are bounded here, whatever
// this thread does then: a line of the log may go to a file system that hangs, and every lock may be held.
void Daemon::Signalled() {
  signalled_ = clock_.Now();
  if (allocation_.empty()) return;
  gone_by_ = *signalled_ + Moments().all();
  std::thread([end = *gone_by_] {
    std::this_thread::sleep_until(end);
    std::_Exit(kExitOk);
  }).detach();
}

// The record goes first, then the process, without waiting for a lane that may sit in a call which cannot be
// interrupted, for anybody's lock but the log's, or for long for a file system.
void Daemon::Leave() {
  const auto done = std::make_shared<std::promise<void>>();
  std::thread([this, done] {
    slot_->Withdraw();
    socket_file_.Remove();
    if (const std::vector<std::string> names = saver_->Abandon(); !names.empty()) {
      log_->warn("not saved: {}", Listed(names));
    }
    log_->info("stopped");
    log_->flush();
    job_ids_->End(engine_->last_number(), last_words_).IgnoreError();
    done->set_value();
  }).detach();
  // Where KillWait is short, what the steps before have left of it is for the record as well.
  nanoseconds last = Moments().last;
  if (gone_by_) last = std::max(last, std::min<nanoseconds>(*gone_by_ - clock_.Now(), Divide(kSlurmKillWait).last));
  done->get_future().wait_for(last);
  std::_Exit(kExitOk);
}

}  // namespace

int RunDaemon(const Config& config, const Surroundings& surroundings) {
  Daemon daemon(config, surroundings);
  if (absl::Status status = daemon.Start(); !status.ok()) {
    daemon.GiveUp();
    return Fail(status);
  }
  daemon.Serve();
  return kExitOk;
}

}  // namespace hotplate::server
