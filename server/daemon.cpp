#include "server/daemon.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <thread>

#include "kernels/array/quoted.h"
#include "kernels/device.h"
#include "kernels/status.h"
#include "server/allocation.h"
#include "server/control.h"
#include "server/devices.h"
#include "server/endpoint.h"
#include "server/log.h"
#include "server/quantity.h"
#include "server/service/grpc_server.h"
#include "server/tls.h"
#include "server/version.h"
#include "server/wire/types.h"

namespace hotplate::server {
namespace {

using core::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kTick = seconds(1);
// After a drain: for last messages to reach clients that read them.
constexpr std::chrono::milliseconds kGoodbye{500};
// On top of the drain timeout, for jobs to see that they are cancelled.
constexpr nanoseconds kLastResort = seconds(2);

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

spdlog::level::level_enum LevelOf(core::LogLevel level) {
  switch (level) {
    case core::LogLevel::kDebug:
      return spdlog::level::debug;
    case core::LogLevel::kInfo:
      return spdlog::level::info;
    case core::LogLevel::kWarning:
      return spdlog::level::warn;
    case core::LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

core::LogLevel LevelOf(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return core::LogLevel::kDebug;
  if (level == spdlog::level::info) return core::LogLevel::kInfo;
  return level == spdlog::level::warn ? core::LogLevel::kWarning : core::LogLevel::kError;
}

class Daemon {
 public:
  Daemon(const Config& config, const Surroundings& surroundings) : config_(config), surroundings_(surroundings) {}

  absl::Status Start();
  void Serve();

 private:
  absl::Status OpenDevices();
  absl::Status Listen();
  absl::Status Publish(std::uint16_t port);
  ServiceContext::Parts Parts() const;
  v1::GetServerInfoResponse Info() const;
  nanoseconds TimeoutOf(const Control::Wish& wish) const { return wish.timeout.value_or(config_.drain_timeout); }
  void Drain(nanoseconds timeout, const std::string& reason, bool leave);
  void SayGoodbye();
  Control::Wish ListenUntil(core::SteadyTime last, bool leaving);
  void TellWhatIsDropped();
  [[noreturn]] void Leave();

  const Config& config_;
  const Surroundings& surroundings_;
  const core::WallTime start_time_ = std::chrono::system_clock::now();
  const core::Clock clock_;
  Allocation allocation_;
  std::shared_ptr<spdlog::logger> log_;
  std::optional<EndpointSlot> slot_;
  std::optional<Identity> identity_;
  std::string generation_, secret_;
  std::shared_ptr<const Authenticator> authenticator_;
  std::unique_ptr<Control> control_;
  // In the order of their making; each refers to those before it.
  std::unique_ptr<core::ArrayStore> arrays_;
  std::unique_ptr<core::Engine> engine_;
  std::unique_ptr<core::TelemetrySampler> telemetry_;
  std::unique_ptr<ServiceContext> context_;
  std::unique_ptr<GrpcServer> server_;
};

absl::Status Daemon::Start() {
  absl::StatusOr<EndpointSlot> slot = EndpointSlot::Claim(config_.directory, config_.name);
  if (!slot.ok()) return slot.status();
  slot_.emplace(*std::move(slot));
  auto log = OpenLog(config_.log_file, config_.log_level);
  if (!log.ok()) return log.status();
  log_ = *std::move(log);
  RouteGrpcLog(log_);
  auto control = Control::Create();
  if (!control.ok()) return control.status();
  control_ = *std::move(control);
  allocation_ = ReadAllocation(surroundings_);

  if (!config_.insecure) {
    absl::StatusOr<Identity> identity = MakeIdentity();
    if (!identity.ok()) return identity.status();
    identity_ = *std::move(identity);
  }
  const absl::StatusOr<std::string> generation = RandomHex(8), secret = RandomHex(32);
  if (!generation.ok()) return generation.status();
  if (!secret.ok()) return secret.status();
  generation_ = *generation;
  secret_ = *secret;
  authenticator_ = std::make_shared<const Authenticator>(std::vector<Token>{{"owner", secret_, core::Scope::kAdmin}});
  if (absl::Status status = OpenDevices(); !status.ok()) return status;
  return Listen();
}

absl::Status Daemon::OpenDevices() {
  std::uint64_t host_bytes = 0;
  absl::StatusOr<DeviceSet> devices = ChooseDevices(
      config_, BuiltinCatalog(), [log = log_](const std::string& line) { log->warn("{}", line); }, host_bytes);
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

  core::EngineOptions options;
  options.queued_jobs = config_.queue;
  options.inline_bytes = config_.inline_bytes;
  options.result_retention = config_.result_retention;
  options.disconnect_grace = config_.disconnect_grace;
  options.max_sessions = config_.max_sessions;
  options.max_streams = config_.max_streams;
  options.session_timeout = config_.session_timeout;
  options.log_level = LevelOf(log_->level());
  options.log = [log = log_](core::LogLevel level, const std::string& line) { log->log(LevelOf(level), "{}", line); };
  options.allocation_end = [end = allocation_.end_time] { return end; };
  engine_ = std::make_unique<core::Engine>(std::move(options), BuiltinCatalog(), *std::move(devices), *arrays_, clock_);
  telemetry_ = std::make_unique<core::TelemetrySampler>(*engine_, clock_);
  return absl::OkStatus();
}

v1::GetServerInfoResponse Daemon::Info() const {
  v1::GetServerInfoResponse info;
  info.set_generation(generation_);
  info.set_name(config_.name);
  info.mutable_versions()->set_hotplate(kVersion);
  info.mutable_allocation()->set_cluster(allocation_.cluster);
  info.mutable_allocation()->set_job_id(allocation_.job_id);
  if (allocation_.end_time) wire::ToProto(*allocation_.end_time, *info.mutable_allocation()->mutable_end_time());
  v1::Limits& limits = *info.mutable_limits();
  limits.set_message_bytes(config_.message_bytes);
  limits.set_inline_bytes(config_.inline_bytes);
  limits.set_array_bytes(arrays_->limits().total_bytes);
  limits.set_max_array_bytes(arrays_->limits().array_bytes);
  limits.set_queued_jobs(config_.queue);
  limits.set_open_streams(config_.max_streams);
  limits.set_sessions(config_.max_sessions);
  wire::ToProto(config_.longest_lease, *limits.mutable_longest_lease());
  wire::ToProto(config_.result_retention, *limits.mutable_result_retention());
  for (const std::string& root : config_.path_roots) limits.add_path_roots(root);
  for (const auto& device : engine_->devices()) {
    wire::ToProto(device->info(), "", *info.add_devices());
    // Of the node: all its GPUs have the same.
    if (!device->info().driver_version.empty()) info.mutable_versions()->set_driver(device->info().driver_version);
  }
  wire::ToProto(start_time_, *info.mutable_start_time());
  info.set_pid(static_cast<std::uint32_t>(getpid()));
  info.set_node(NodeName());
  for (const std::string& note : engine_->device_notes()) info.add_device_notes(note);
  if (config_.idle_timeout.count() > 0) wire::ToProto(config_.idle_timeout, *info.mutable_idle_timeout());
  wire::ToProto(config_.drain_timeout, *info.mutable_drain_timeout());
  return info;
}

ServiceContext::Parts Daemon::Parts() const {
  ServiceContext::Parts parts;
  parts.engine = engine_.get();
  parts.telemetry = telemetry_.get();
  parts.authenticator = authenticator_;
  parts.control = control_.get();
  parts.bounds.max_array_bytes = arrays_->limits().array_bytes;
  std::vector<std::string> missing;
  parts.bounds.path_roots = wire::CanonicalRoots(config_.path_roots, &missing);
  for (const std::string& root : missing) {
    log_->warn("path-root {} is no folder that can be reached: no input by path comes from there", Quoted(root));
  }
  for (const auto& device : engine_->devices()) parts.facts.devices[device->info().id] = device->info();
  parts.info = Info();
  parts.facts.versions = parts.info.versions();
  return parts;
}

absl::Status Daemon::Listen() {
  context_ = std::make_unique<ServiceContext>(Parts());
  ListenOptions options;
  options.address = config_.listen;
  options.port = config_.port;
  options.unix_socket = config_.unix_socket;
  options.identity = identity_;
  options.message_bytes = config_.message_bytes;
  options.keepalive = config_.keepalive;
  absl::StatusOr<std::unique_ptr<GrpcServer>> server = GrpcServer::Start(*context_, authenticator_, options);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  server_->SetServing(true);
  return Publish(server_->port());
}

absl::Status Daemon::Publish(std::uint16_t port) {
  v1::EndpointRecord record;
  record.set_schema_version(1);
  record.set_name(config_.name);
  record.set_hotplate_version(kVersion);
  record.set_cluster(allocation_.cluster);
  record.set_slurm_job_id(allocation_.job_id);
  record.set_restart_count(allocation_.restart_count);
  record.set_generation(generation_);
  const std::vector<std::string> addresses = config_.unix_socket.empty()
                                                 ? ReachableAddresses(config_.listen)
                                                 : std::vector<std::string>{"unix:" + config_.unix_socket};
  for (const std::string& address : addresses) {
    v1::Endpoint& endpoint = *record.add_endpoints();
    endpoint.set_node(NodeName());
    endpoint.set_address(address);
    endpoint.set_port(port);
  }
  if (identity_) record.set_certificate_pem(identity_->certificate_pem);
  record.set_token(secret_);
  wire::ToProto(start_time_, *record.mutable_start_time());
  if (allocation_.end_time) wire::ToProto(*allocation_.end_time, *record.mutable_allocation_end_time());
  record.set_pid(static_cast<std::uint32_t>(getpid()));
  record.set_log_file(config_.log_file);
  if (absl::Status status = slot_->Publish(record); !status.ok()) return status;
  log_->info("serving \"{}\" at {}{} (hotplated {}, pid {}{}), record {}", config_.name, addresses[0],
             port != 0 ? fmt::format(":{}", port) : std::string(), kVersion, getpid(),
             config_.insecure ? ", without TLS" : "", slot_->record_path());
  return absl::OkStatus();
}

void Daemon::Serve() {
  const std::string idle = "idle for " + FormatDuration(config_.idle_timeout) + ": no job, upload or download";
  for (;;) {
    const Control::Wish wish = control_->Wait(kTick);
    switch (wish.kind) {
      case Control::Wish::Kind::kSignal:
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
    if (config_.idle_timeout.count() > 0 && engine_->DrainIfIdle(config_.idle_timeout, idle)) {
      return Drain(config_.drain_timeout, idle, true);
    }
  }
}

// On another thread while this one listens: a second signal, or the very last moment, ends the process.
void Daemon::Drain(nanoseconds timeout, const std::string& reason, bool leave) {
  control_->StartDraining();
  server_->SetServing(false);
  const auto announce = [this](nanoseconds left, const std::string& why) {
    log_->info("draining: {}; jobs and transfers have {}", why, FormatDuration(left));
    engine_->Announce("the daemon is draining: " + why, static_cast<double>(left.count()) * 1e-9);
  };
  announce(timeout, reason);
  core::SteadyTime end = clock_.Now() + timeout;
  // Here, so that whatever shortens it comes after it.
  engine_->BeginDrain(timeout, reason);
  std::thread drainer([this] {
    const bool all_ended = engine_->AwaitDrained();
    log_->info("drained: {}{}", all_ended ? "every job ended by itself" : "jobs were cancelled",
               arrays_->HasUnread() ? "; results are lost that nobody came for" : "");
    control_->Finished();
  });
  for (;;) {
    const Control::Wish wish = ListenUntil(end + kLastResort, leave);
    if (wish.kind == Control::Wish::Kind::kFinished) break;
    // Somebody has less time than the drain was given, or more, which is not granted.
    leave = leave || wish.kind != Control::Wish::Kind::kDrain;
    if (const core::SteadyTime wished = clock_.Now() + TimeoutOf(wish); wished < end) {
      end = wished;
      announce(TimeoutOf(wish), wish.reason);
      engine_->ShortenDrain(TimeoutOf(wish));
    }
  }
  drainer.join();
  if (leave) SayGoodbye();
}

void Daemon::SayGoodbye() {
  std::thread goodbye([this] {
    server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
    control_->Finished();
  });
  while (ListenUntil(clock_.Now() + kGoodbye + kLastResort, true).kind != Control::Wish::Kind::kFinished) {
  }
  goodbye.join();
  TellWhatIsDropped();
  Leave();
}

// The next wish. Leaves at once if `last` passes first, or if a signal comes to a daemon that is `leaving` already.
Control::Wish Daemon::ListenUntil(core::SteadyTime last, bool leaving) {
  for (;;) {
    Control::Wish wish = control_->Wait(std::max<nanoseconds>(last - clock_.Now(), nanoseconds(0)));
    if (leaving && wish.kind == Control::Wish::Kind::kSignal) {
      log_->warn("{} while draining: leaving at once", wish.reason);
      Leave();
    }
    if (wish.kind != Control::Wish::Kind::kNone) return wish;
    if (clock_.Now() >= last) {
      log_->warn("something still runs after the drain timeout: leaving");
      Leave();
    }
  }
}

// One line for whoever looks for an array or a result later. Takes locks, so it is no part of leaving at once.
void Daemon::TellWhatIsDropped() {
  const core::Principal all{"", core::SessionId(), core::Scope::kAdmin};
  constexpr std::size_t kMostNames = 20;
  std::uint64_t bytes = 0;
  std::vector<std::string> names;
  const std::vector<core::ArraySnapshot> arrays = arrays_->List(all);
  for (const core::ArraySnapshot& array : arrays) {
    bytes += array.bytes;
    names.push_back(array.name.empty() ? array.id.value() : array.name);
  }
  const std::size_t array_count = names.size();
  core::JobFilter filter;
  filter.limit = std::numeric_limits<std::size_t>::max();
  for (const core::JobSnapshot& job : engine_->List(all, filter)) {
    if (job.detached && job.end && !job.end->outputs_dropped && !job.end->outputs.empty()) {
      names.push_back("job " + job.id.value());
    }
  }
  if (names.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) list += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMostNames) list += ", ...";
  log_->info("dropped with this daemon: {} arrays of {} together, the kept results of {} jobs ({})", array_count,
             FormatBytes(bytes), names.size() - array_count, list);
}

// The record goes first, then the process, without waiting for a lane that may sit in a call which cannot be
// interrupted, or for anybody's lock but the log's.
void Daemon::Leave() {
  slot_->Withdraw();
  if (!config_.unix_socket.empty()) unlink(config_.unix_socket.c_str());
  log_->info("stopped");
  log_->flush();
  std::_Exit(kExitOk);
}

}  // namespace

int RunDaemon(const Config& config, const Surroundings& surroundings) {
  Daemon daemon(config, surroundings);
  if (absl::Status status = daemon.Start(); !status.ok()) return Fail(status);
  daemon.Serve();
  return kExitOk;
}

}  // namespace hotplate::server
