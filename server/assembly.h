// The parts of a daemon, in the order of construction (daemon.h). Each part refers to earlier ones.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "kernels/base/mutex.h"
#include "server/audit_log.h"
#include "server/config.h"
#include "server/control.h"
#include "server/core/engine.h"
#include "server/core/run/telemetry.h"
#include "server/description.h"
#include "server/durable/durable_jobs.h"
#include "server/endpoint.h"
#include "server/environments/named_environments.h"
#include "server/log.h"
#include "server/net/listening_socket.h"
#include "server/saved/job_ids.h"
#include "server/saved/saved_arrays.h"
#include "server/service/grpc_server.h"
#include "server/slurm/allocation.h"
#include "server/slurm/allocation_end.h"
#include "server/slurm/kill_wait.h"
#include "server/tokens/guest_tokens.h"
#include "server/workers/function_table.h"
#include "server/workers/supervisor.h"
#include "server/workers/warm_pythons.h"
#include "server/workers/worker_pool.h"

namespace hotplate::server {

// Before the allocation's end the drain has to be over: for what comes after the jobs, and clocks that differ.
inline constexpr core::nanoseconds kEndMargin = std::chrono::seconds(15);

class Assembly {
 public:
  Assembly(const Config& config, const Surroundings& surroundings, Supervisor* supervisor)
      : config_(config), surroundings_(surroundings), supervisor_(supervisor) {}

  absl::Status Start();
  // After a start that failed: what it had taken is free again.
  void GiveUp();

  // All are there once Start has returned OK.
  const Config& config() const { return config_; }
  const core::Clock& clock() const { return clock_; }
  const Allocation& allocation() const { return allocation_; }
  const std::shared_ptr<spdlog::logger>& log() const { return log_; }
  Control& control() { return *control_; }
  JobIds& job_ids() { return *job_ids_; }
  DurableJobs* durable() { return durable_.get(); }
  core::ArrayStore& arrays() { return *arrays_; }
  core::Engine& engine() { return *engine_; }
  GrpcServer& server() { return *server_; }
  ArraySaver& saver() { return *saver_; }
  AllocationEnd& allocation_end() const { return *end_; }
  // From a signal of the batch system's to its KILL.
  core::nanoseconds kill_wait() const { return kill_wait_.load(); }
  // Nobody uses the daemon: cancels the jobs that were to follow on its own. Waits for Slurm.
  void CancelSuccessors();
  // To the next daemon of this name. Waits for the file system.
  void LeaveWarmPythons();
  // The last line of the audit log. Waits for the file system.
  void EndAuditLog(const std::string& reason);
  // Nobody finds the daemon any more.
  void Withdraw() {
    slot_->Withdraw();
    socket_file_.Remove();
  }

 private:
  absl::Status MakeCredentials();
  absl::Status OpenAuditLog();
  void OpenGuests();
  absl::Status OpenJobIds();
  void OpenJournal();
  void RestoreJobs();
  DurableArrays* DurableArraysOrNull() const;
  absl::Status OpenDevices();
  absl::Status OpenEnvironments();
  void OpenPythons();
  JitCaches OpenJitCaches() const;
  absl::Status Listen();
  absl::Status ListenWithin(const PortRange& ports, ListenOptions options);
  absl::Status Publish(const std::string& listen, std::uint16_t port);
  ServiceContext::Parts Parts() const;
  SelfFacts Facts() const { return {config_, allocation_, generation_, start_time_}; }
  void FollowAllocation();
  // On the thread that asks Slurm.
  void EndChanged(std::optional<core::WallTime> before, core::WallTime now);
  void AskWhenItIsKilled(const std::stop_token& stop);
  void LookForSuccessors(const std::stop_token& stop);

  const Config& config_;
  const Surroundings& surroundings_;
  Supervisor* const supervisor_;
  // They outlive the engine, whose jobs use them.
  std::unique_ptr<NamedEnvironments> environments_;
  std::unique_ptr<WarmPythons> pythons_;
  mutable FunctionTable functions_;
  mutable SegmentCache segments_;
  mutable WorkerPool workers_;
  std::uint64_t program_bytes_ = 0, inbox_bytes_ = 0;
  const core::WallTime start_time_ = std::chrono::system_clock::now();
  const core::Clock clock_;
  Allocation allocation_;
  std::shared_ptr<spdlog::logger> log_;
  std::unique_ptr<AuditLog> audit_;  // null: there is none
  std::optional<EndpointSlot> slot_;
  // All or none.
  std::optional<Identity> identity_, client_identity_;
  std::optional<ClientAuthority> authority_;  // of clients
  std::string generation_, secret_;
  std::shared_ptr<Authenticator> authenticator_;
  const std::shared_ptr<core::Allowances> allowances_ = std::make_shared<core::Allowances>(kOwnerToken);
  const std::shared_ptr<GuestStreams> guest_streams_ = std::make_shared<GuestStreams>(allowances_);
  std::unique_ptr<Control> control_;
  std::unique_ptr<JobIds> job_ids_;
  std::shared_ptr<DurableJobs> durable_;  // null: there is no journal
  std::unique_ptr<core::ArrayStore> arrays_;
  std::unique_ptr<core::Engine> engine_;
  std::unique_ptr<core::TelemetrySampler> telemetry_;
  std::unique_ptr<GuestTokens> guests_;  // its thread uses the engine
  std::unique_ptr<ServiceContext> context_;
  std::unique_ptr<GrpcServer> server_;
  SocketFile socket_file_;
  std::unique_ptr<ArraySaver> saver_;
  std::jthread cutting_caches_;

  std::atomic<core::nanoseconds> kill_wait_{core::nanoseconds(kSlurmKillWait)};
  bool kill_wait_known_ = false;  // this and the next of the thread that asks Slurm
  KillWaitTries kill_wait_tries_;
  std::atomic<bool> has_successor_{false};

  Mutex record_mutex_;
  std::optional<v1::EndpointRecord> record_ ABSL_GUARDED_BY(record_mutex_);  // as published
  std::unique_ptr<AllocationEnd> end_;                                       // its thread uses what stands before it
};

}  // namespace hotplate::server
