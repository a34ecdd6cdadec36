#include "server/assembly.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/free_space.h"
#include "kernels/base/quantity.h"
#include "kernels/base/run_program.h"
#include "kernels/base/status.h"
#include "kernels/devices/device.h"
#include "server/devices.h"
#include "server/net/addresses.h"
#include "server/net/tls.h"
#include "server/service/programs.h"
#include "server/spare_memory.h"
#include "server/version.h"
#include "server/wire/values.h"

namespace hotplate::server {

using core::nanoseconds;

// A function that calls another one, and waits for it, needs a second.
constexpr int kLeastWorkers = 2;
constexpr std::uint64_t kLeastInbox = std::uint64_t{256} << 20;
// Of ended jobs without files, in the journal.
constexpr nanoseconds kHistoryAge = std::chrono::hours(24 * 365);

absl::Status Assembly::Start() {
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
  if (supervisor_ != nullptr && geteuid() == 0) {
    log_->warn("this daemon runs programs of its clients with the rights of root; --user-code none forbids it");
  }
  if (absl::Status status = OpenEnvironments(); !status.ok()) return status;
  OpenPythons();
  if (const std::string job = AllocationElsewhere(surroundings_); !job.empty()) {
    log_->warn("this is a shell of job {}, but none of its nodes: a daemon by hand; srun or jsrun starts it there",
               job);
  }
  FollowAllocation();

  if (absl::Status status = MakeCredentials(); !status.ok()) return status;
  if (absl::Status status = OpenAuditLog(); !status.ok()) return status;
  OpenGuests();
  if (absl::Status status = OpenJobIds(); !status.ok()) return status;
  OpenJournal();
  if (absl::Status status = OpenDevices(); !status.ok()) return status;
  return Listen();
}

absl::Status Assembly::MakeCredentials() {
  if (!config_.insecure) {
    absl::StatusOr<ClientAuthority> authority = ClientAuthority::Make();
    if (!authority.ok()) return authority.status();
    authority_ = *std::move(authority);
    absl::StatusOr<Identity> own = MakeDaemonIdentity(), client = authority_->MakeClient(kOwnerToken);
    if (!own.ok()) return own.status();
    if (!client.ok()) return client.status();
    identity_ = *std::move(own);
    client_identity_ = *std::move(client);
  }
  const absl::StatusOr<std::string> generation = RandomHex(8), secret = RandomHex(32);
  if (!generation.ok()) return generation.status();
  if (!secret.ok()) return secret.status();
  generation_ = *generation;
  secret_ = *secret;
  authenticator_ = std::make_shared<Authenticator>(std::vector<Token>{{kOwnerToken, secret_, core::Scope::kAdmin}});
  return absl::OkStatus();
}

// A daemon whose acts were to be written down, and cannot be, does not begin.
absl::Status Assembly::OpenAuditLog() {
  if (config_.audit_log == kNoAuditLog) return absl::OkStatus();
  const auto trouble = [](const absl::Status& why) {
    return absl::Status(why.code(), ToAbsl("the audit log cannot be kept: " + std::string(why.message()) +
                                           "; --audit-log names another file, or is off"));
  };
  if (const std::string folder = AuditFolder(config_); config_.audit_log.starts_with(folder + "/")) {
    if (absl::Status status = PrivateFolder(folder); !status.ok()) return trouble(status);
  }
  AuditLog::Options options;
  options.file = config_.audit_log;
  options.bytes = config_.audit_bytes;
  options.generation = generation_;
  options.warn = [log = log_](const std::string& line) { log->warn("{}", line); };
  absl::StatusOr<std::unique_ptr<AuditLog>> audit = AuditLog::Open(std::move(options));
  if (!audit.ok()) return trouble(audit.status());
  audit_ = *std::move(audit);
  return absl::OkStatus();
}

void Assembly::EndAuditLog(const std::string& reason) {
  if (audit_ == nullptr) return;
  audit_->Write(AuditLog::Sums::kAll);  // sums come behind lines
  audit_->Note({.act = "end", .object = config_.name, .name = reason});
  audit_->Write(AuditLog::Sums::kAll);
}

void Assembly::OpenGuests() {
  GuestTokens::Options guests;
  guests.directory = config_.directory;
  guests.daemon = config_.name;
  guests.authority = authority_;
  guests.authenticator = authenticator_;
  guests.allowances = allowances_;
  guests.end = [this](const std::string& token, const std::string& why) {
    const std::uint32_t jobs = engine_->CancelJobsOf(token, why);
    engine_->EndSessionsOfGuest(token);
    return jobs;
  };
  guests.end_streams = [streams = guest_streams_] { streams->EndOver(); };
  guests.note = [log = log_](const std::string& line) { log->info("{}", line); };
  guests.warn = [log = log_](const std::string& line) { log->warn("{}", line); };
  guests.expired = [audit = audit_.get()](const std::string& token) {
    if (audit != nullptr) audit->Note({.act = "token.expire", .object = token});
  };
  guests_ = std::make_unique<GuestTokens>(std::move(guests));
}

void Assembly::GiveUp() {
  if (job_ids_ != nullptr) job_ids_->End({}, std::nullopt).IgnoreError();
}

absl::Status Assembly::OpenJobIds() {
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

void Assembly::OpenJournal() {
  if (config_.journal == kNoJournal) return;
  DurableJobs::Options options;
  options.journal.folder = config_.journal + "/" + config_.name;
  options.journal.life = {generation_, config_.name, NodeName(), allocation_.job_id};
  // This daemon has the name, so whoever had it is gone, or on its way.
  options.journal.is_gone = [](const journal::Owner&) { return true; };
  options.spool = SavedArraysFolder(config_) + ".jobs";
  options.directory = config_.directory;
  options.limits.bytes =
      config_.saved_bytes == kHalfOfTheRoom ? FreeSpace(config_.scratch).value_or(0) / 2 : config_.saved_bytes;
  options.retention = config_.result_retention;
  options.retained_jobs = config_.retained_jobs;
  options.retained_bytes = config_.retained_bytes;
  options.age = config_.saved_age;
  options.history_age = kHistoryAge;
  options.log = [log = log_](core::LogLevel level, const std::string& line) { log->log(LevelOf(level), "{}", line); };
  durable_ = DurableJobs::Open(std::move(options));
}

DurableArrays* Assembly::DurableArraysOrNull() const { return durable_ != nullptr ? durable_->arrays() : nullptr; }

void Assembly::RestoreJobs() {
  if (durable_ == nullptr) return;
  DurableJobs::Parse parse;
  parse.job = [this](const core::Principal& who, const v1::JobSpec& spec) {
    return JobAsRequest(*context_, who, spec, wire::SignatureInputs::kRefused);
  };
  parse.program = [this](const v1::Program& program) {
    return ProgramAsJob(*context_, program, std::make_shared<ProgramStreams>(/*has_client=*/false));
  };
  durable_->Restore(*engine_, context_->facts(), parse);
}

absl::Status Assembly::OpenDevices() {
  HostLimits host;
  absl::StatusOr<DeviceSet> devices = ChooseDevices(
      config_, allocation_, BuiltinCatalog(), [log = log_](const std::string& line) { log->warn("{}", line); }, host);
  if (!devices.ok()) return devices.status();
  for (const std::string& source : devices->sources) log_->info("{}", source);
  for (const std::string& note : devices->notes) log_->info("{}", note);
  for (const auto& device : devices->devices) {
    const DeviceInfo& info = device->info();
    log_->info("device {}: {}, {} lanes of {} threads", info.id, info.name, info.lanes, info.threads_per_lane);
  }

  core::ArrayLimits limits;
  limits.total_bytes = config_.array_bytes != 0 ? config_.array_bytes : host.bytes / 4 * 3;
  limits.array_bytes = config_.max_array_bytes != 0 ? config_.max_array_bytes : limits.total_bytes;
  limits.longest_lease = config_.longest_lease;
  limits.first_number = job_ids_->FirstArray();
  arrays_ = std::make_unique<core::ArrayStore>(limits, clock_, allowances_);
  SpareMemory::Keep(host.bytes / 16);
  inbox_bytes_ = config_.inbox_bytes != 0 ? config_.inbox_bytes
                                          : std::max({kLeastInbox, host.bytes / 8, 4 * config_.message_bytes});
  program_bytes_ = config_.program_bytes != 0 ? config_.program_bytes : host.bytes;

  core::EngineOptions options;
  options.allowances = allowances_;
  absl::StatusOr<core::NumberBlock> numbers = job_ids_->Claim(core::JobNumbers::kFirstSize);
  // The folder of job ids may be younger than the journal.
  const std::uint64_t last = durable_ != nullptr ? durable_->last_number() : 0;
  while (numbers.ok() && numbers->first <= last) {
    numbers = job_ids_->Claim(std::max(core::JobNumbers::kFirstSize, last - numbers->first));
  }
  if (!numbers.ok()) return numbers.status();
  options.first_numbers = *numbers;
  options.claim_numbers = [this](std::uint64_t size) { return job_ids_->Claim(size); };
  options.job_log = durable_;
  options.queued_jobs = config_.queue;
  if (config_.user_code == UserCode::kAll) {
    const int workers = config_.workers != 0 ? config_.workers : std::max(host.threads, kLeastWorkers);
    options.workers = static_cast<std::uint32_t>(std::max(1, workers / config_.cpu_devices));  // of each CPU
    if (config_.workers > host.threads) {
      log_->warn("workers: {} for {} threads of the processor", config_.workers, host.threads);
    }
    workers_.KeepWaiting(options.workers);
  }
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
  options.has_successor = [this] { return has_successor_.load(); };
  engine_ = std::make_unique<core::Engine>(std::move(options), BuiltinCatalog(), *std::move(devices), *arrays_, clock_);
  telemetry_ = std::make_unique<core::TelemetrySampler>(*engine_, clock_);
  ArraySaver::Options saving{SavedArraysFolder(config_), generation_, {config_.saved_age, config_.saved_bytes}};
  saving.file_of = [this](const core::ArrayId& id) {
    return DurableArraysOrNull() != nullptr ? DurableArraysOrNull()->FileOf(id) : "";
  };
  saving.log = [this, log = log_](const SavedArrays::One& one) {
    if (DurableArraysOrNull() != nullptr && !one.file.empty()) DurableArraysOrNull()->NoteSaved(one.id, one.file);
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

ServiceContext::Parts Assembly::Parts() const {
  ServiceContext::Parts parts;
  parts.engine = engine_.get();
  parts.telemetry = telemetry_.get();
  parts.authenticator = authenticator_;
  parts.guests = guests_.get();
  parts.guest_streams = guest_streams_;
  parts.control = control_.get();
  parts.audit = audit_.get();
  parts.bounds.max_array_bytes = arrays_->limits().array_bytes;
  std::vector<std::string> missing;
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
  parts.inbox_bytes = inbox_bytes_;
  parts.allocation_end = [this] { return end_->Get(); };
  parts.facts.versions = parts.info.versions();
  if (std::optional<v1::DaemonLife> before = job_ids_->Before()) *parts.info.mutable_before() = *std::move(before);
  parts.bounds.output_mode = 0666 & ~surroundings_.umask;
  parts.programs = {.expressions = config_.user_code != UserCode::kNone,
                    .supervisor = supervisor_,
                    .environments = environments_.get(),
                    .jit_caches = OpenJitCaches(),
                    .pythons = pythons_.get(),
                    .functions = &functions_,
                    .workers = &workers_,
                    .segments = &segments_,
                    .umask = surroundings_.umask,
                    .memory_bytes = program_bytes_};
  parts.durable = durable_.get();
  parts.caches = {.expressions = CubinFolder(config_), .packages = parts.programs.jit_caches.folder()};
  parts.save_array = [this](const core::ArraySnapshot& array) { return saver_->SaveNow(array); };
  parts.room_to_save = [this] { return saver_->room(); };
  parts.whose_job = [this](const std::string& id) { return job_ids_->WhoseJob(id); };
  return parts;
}

absl::Status Assembly::Listen() {
  context_ = std::make_unique<ServiceContext>(Parts());
  RestoreJobs();
  if (const std::string& caches = context_->programs().jit_caches.folder(); !caches.empty()) {
    cutting_caches_ = std::jthread([caches](const std::stop_token& stop) { JitCaches::CutDown(caches, stop); });
  }
  ListenOptions options;
  options.address = config_.listen;
  if (config_.unix_socket.empty() && !config_.interface.empty()) {
    absl::StatusOr<std::string> address = AddressOfInterface(config_.interface);
    if (!address.ok()) return address.status();
    options.address = *std::move(address);
  }
  options.unix_socket = config_.unix_socket;
  options.identity = identity_;
  if (client_identity_) options.client = *client_identity_;
  if (authority_) options.client_roots = authority_->certificate_pem();
  options.message_bytes = config_.message_bytes;
  options.transport_bytes = inbox_bytes_;
  options.keepalive = config_.keepalive;
  options.warn = [log = log_](const std::string& line) { log->warn("{}", line); };
  if (absl::Status status = ListenWithin(config_.port, options); !status.ok()) return status;
  server_->SetServing(true);
  return Publish(options.address, server_->port());
}

// Begins anywhere in the range: daemons that start at the same moment are less in each other's way.
absl::Status Assembly::ListenWithin(const PortRange& ports, ListenOptions options) {
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
    if (!absl::IsUnavailable(why)) return why;  // not for the port
  }
  if (!range) return why;
  return absl::UnavailableError(
      ToAbsl(fmt::format("no port from {} to {} is free on {} (the last tried: {}); give --listen or --port another "
                         "value, or 0 for any port",
                         ports.first, ports.last, options.address, std::string(why.message()))));
}

absl::Status Assembly::Publish(const std::string& listen, std::uint16_t port) {
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
  // Before anybody can call.
  const std::string program = std::string("hotplated ") + kVersion;
  if (audit_ != nullptr) audit_->Note({.act = "start", .object = config_.name, .name = program});
  absl::Status published;
  {
    MutexLock lock(record_mutex_);
    record_ = std::move(record);
    if (const auto end = end_->Get()) wire::ToProto(*end, *record_->mutable_allocation_end_time());
    published = slot_->Publish(*record_);
    if (published.ok()) guests_->Publish(*record_);
  }
  if (!published.ok()) {
    EndAuditLog("it cannot start: " + std::string(published.message()));
    return published;
  }
  log_->info("serving \"{}\" at {}{} (hotplated {}, pid {}{}), record {}", config_.name, addresses[0],
             port != 0 ? fmt::format(":{}", port) : std::string(), kVersion, getpid(),
             config_.insecure ? ", without TLS" : "", slot_->record_path());
  return absl::OkStatus();
}

}  // namespace hotplate::server
