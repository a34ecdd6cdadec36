#include "server/service/server_service.h"

#include <algorithm>
#include <chrono>

#include "server/caches.h"
#include "server/description.h"
#include "server/saved/last_words.h"
#include "server/service/unary.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

constexpr core::nanoseconds kLongestDrain = std::chrono::hours(24);

// The duration that a request gives; nothing if it gives none. Zero is fine here.
absl::StatusOr<std::optional<core::nanoseconds>> Span(bool given, const google::protobuf::Duration& duration,
                                                      const std::string& field) {
  if (!given) return std::optional<core::nanoseconds>();
  if (duration.seconds() == 0 && duration.nanos() == 0) return std::optional(core::nanoseconds(0));
  const absl::StatusOr<core::nanoseconds> span = wire::PositiveDuration(duration, field);
  if (!span.ok()) return span.status();
  return std::optional(*span);
}

// The same of a drain, bounded.
absl::StatusOr<std::optional<core::nanoseconds>> Timeout(bool given, const google::protobuf::Duration& duration,
                                                         const std::string& field) {
  auto timeout = Span(given, duration, field);
  if (timeout.ok() && *timeout) *timeout = std::min(**timeout, kLongestDrain);
  return timeout;
}

// Updates the parts of the info that change: devices, the allocation's end, and its cost. GPUs that Slurm gave but
// nobody opened are paid for too.
void Refresh(const ServiceContext& context, const core::EngineStatus& status, v1::GetServerInfoResponse& info) {
  using Minutes = std::chrono::duration<double, std::ratio<60>>;
  Minutes busy{};
  std::uint32_t open = 0;
  for (v1::Device& device : *info.mutable_devices()) {
    const auto now = std::ranges::find(status.devices, device.id(), &core::EngineStatus::DeviceStatus::id);
    if (now == status.devices.end()) continue;
    device.set_lost(now->lost);
    if (device.backend() != "cuda") continue;
    ++open;
    busy += now->occupied;
  }
  v1::Allocation& allocation = *info.mutable_allocation();
  if (allocation.job_id().empty()) return;
  if (const auto end = context.allocation_end()) wire::ToProto(*end, *allocation.mutable_end_time());
  const Minutes used = Minutes(context.age()) * std::max(open, allocation.gpus_on_node());
  allocation.set_gpu_minutes_used(used.count());
  allocation.set_gpu_minutes_idle(std::max(used - busy, Minutes::zero()).count());
}

}  // namespace

ServerService::ServerService(const ServiceContext& context) : ParsedService(context) {
  Unary("GetInfo", &ServerService::GetInfo);
  Unary("Drain", &ServerService::Drain);
  Unary("Shutdown", &ServerService::Shutdown);
  Unary("CloseSession", &ServerService::CloseSession);
  Unary("ListCaches", &ServerService::ListCaches);
  Unary("ClearCaches", &ServerService::ClearCaches);
  Unary("PruneJournal", &ServerService::PruneJournal);
}

grpc::ServerUnaryReactor* ServerService::GetInfo(grpc::CallbackServerContext* call, const v1::GetServerInfoRequest*,
                                                 v1::GetServerInfoResponse* response) {
  return AnswerNow(context_, call, core::Scope::kObserve, [&](const core::Principal& who) {
    *response = context_.info();
    const core::EngineStatus status = context_.engine().Status();
    response->set_state(status.draining || context_.control().draining() ? v1::DRAINING : v1::SERVING);
    if (who.scope == core::Scope::kAdmin) {
      response->set_at_stake(WhatIsAtStake(context_.engine(), context_.room_to_save()));
    } else {  // these name jobs, arrays and folders of others
      response->clear_before();
      response->clear_saved_arrays();
      response->mutable_limits()->clear_path_roots();
      const auto bounds = context_.BoundsFor(who);
      for (const std::string& root : bounds->path_roots) response->mutable_limits()->add_path_roots(root);
    }
    response->set_idle_seconds(static_cast<double>(status.idle.count()) * 1e-9);
    wire::ToProto(std::chrono::system_clock::now(), *response->mutable_now());
    Refresh(context_, status, *response);
    DescribeUnavailable(context_.engine(), *context_.engine().CatalogFor(who), *response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ServerService::Drain(grpc::CallbackServerContext* call, const v1::DrainRequest* request,
                                               v1::DrainResponse* response) {
  return AnswerNow(context_, call, core::Scope::kAdmin, [&](const core::Principal& who) -> absl::Status {
    const auto timeout = Timeout(request->has_timeout(), request->timeout(), "timeout");
    if (!timeout.ok()) return timeout.status();
    context_.control().RequestDrain(*timeout, who.token);
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ServerService::Shutdown(grpc::CallbackServerContext* call, const v1::ShutdownRequest* request,
                                                  v1::ShutdownResponse* response) {
  return AnswerNow(context_, call, core::Scope::kAdmin, [&](const core::Principal& who) -> absl::Status {
    const auto timeout = Timeout(request->has_drain_timeout(), request->drain_timeout(), "drain_timeout");
    if (!timeout.ok()) return timeout.status();
    context_.control().RequestShutdown(*timeout, who.token);
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ServerService::CloseSession(grpc::CallbackServerContext* call, const v1::CloseSessionRequest*,
                                                      v1::CloseSessionResponse* response) {
  return AnswerNow(context_, call, core::Scope::kSubmit, [&](const core::Principal& who) {
    context_.engine().EndSession(who.session);
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ServerService::ListCaches(grpc::CallbackServerContext* call,
                                                    const v1::ListCachesRequest* request,
                                                    v1::ListCachesResponse* response) {
  return AnswerLater(context_, call, core::Scope::kCode, &ServiceContext::PostForFiles, *request, absl::OkStatus(),
                     [this, response] {
                       for (v1::Cache& cache : server::ListCaches(context_.caches()))
                         *response->add_caches() = std::move(cache);
                       response->set_generation(context_.generation());
                       return absl::OkStatus();
                     });
}

grpc::ServerUnaryReactor* ServerService::ClearCaches(grpc::CallbackServerContext* call,
                                                     const v1::ClearCachesRequest* request,
                                                     v1::ClearCachesResponse* response) {
  return AnswerLater(context_, call, core::Scope::kAdmin, &ServiceContext::PostForFiles, *request, absl::OkStatus(),
                     [this, request, response] {
                       const std::vector<std::string> names(request->names().begin(), request->names().end());
                       auto gone = server::ClearCaches(context_.caches(), names);
                       if (!gone.ok()) return gone.status();
                       for (v1::Cache& cache : *gone) *response->add_removed() = std::move(cache);
                       response->set_generation(context_.generation());
                       return absl::OkStatus();
                     });
}

// May take seconds (DurableJobs::Prune), so it is not for the files' thread, for which jobs wait.
grpc::ServerUnaryReactor* ServerService::PruneJournal(grpc::CallbackServerContext* call,
                                                      const v1::PruneJournalRequest* request,
                                                      v1::PruneJournalResponse* response) {
  const auto age = Span(request->has_older_than(), request->older_than(), "older_than");
  absl::Status refusal = age.status();
  if (refusal.ok() && context_.durable() == nullptr) {
    refusal = absl::FailedPreconditionError("this daemon keeps no journal: it was started with --journal off");
  }
  return AnswerLater(context_, call, core::Scope::kAdmin, &ServiceContext::PostForEnvironments, *request,
                     std::move(refusal), [this, age, response]() -> absl::Status {
                       const auto pruned = context_.durable()->Prune(age->value_or(core::nanoseconds(0)));
                       if (!pruned.ok()) return pruned.status();
                       response->set_released(pruned->released);
                       response->set_bytes(pruned->bytes);
                       response->set_unread(pruned->unread);
                       response->set_unread_bytes(pruned->unread_bytes);
                       for (const std::string& note : pruned->notes) response->add_notes(note);
                       response->set_generation(context_.generation());
                       return absl::OkStatus();
                     });
}

}  // namespace hotplate::server
