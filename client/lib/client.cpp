#include "client/lib/client.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "client/lib/channel.h"
#include "client/lib/endpoint.h"
#include "client/lib/impl.h"
#include "client/lib/library_thread.h"
#include "client/lib/status.h"
#include "client/lib/wire.h"
#include "kernels/array/large_memory.h"

namespace hotplate::client {
namespace {

// How much freed memory of large arrays a process keeps for the next ones.
constexpr std::size_t kMostMemoryKept = std::size_t{512} << 20;

bool IsSession(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Cancellation::Cancellation() : state_(std::make_shared<State>()) {}
void Cancellation::Cancel() { state_->source.request_stop(); }
bool Cancellation::cancelled() const { return state_->source.stop_requested(); }

Client::Impl::Impl(std::shared_ptr<const Connection> the_connection) : connection(std::move(the_connection)) {}

Client::Impl::~Impl() {
  closing.source.request_stop();
  workers.Close();
  stream_.reset();
}

RunStream& Client::Impl::stream() {
  std::call_once(stream_once_, [this] { stream_ = std::make_unique<RunStream>(connection); });
  return *stream_;
}

std::stop_token Client::Impl::TokenOf(const Cancellation* cancellation) {
  return cancellation == nullptr ? std::stop_token() : cancellation->state_->source.get_token();
}

absl::StatusOr<Client> Client::Connect(const ConnectOptions& given, const Cancellation* cancellation) {
  KeepFreedLargeMemory(Keeping::kLent, kMostMemoryKept);
  ConnectOptions options = given;
  if (options.session.empty()) options.session = RandomHex(16);
  if (!IsSession(options.session)) {
    return absl::InvalidArgumentError("session \"" + options.session + "\" is not 32 hexadecimal digits (0-9, a-f)");
  }
  absl::StatusOr<FoundRecord> found = FindRecord(options.server, options.directory);
  if (!found.ok()) return found.status();
  std::string endpoint = options.endpoint;
  if (endpoint.empty() && options.server.empty())
    if (const char* variable = std::getenv("HOTPLATE_ENDPOINT"); variable != nullptr) endpoint = variable;
  if (!endpoint.empty())
    if (const absl::Status status = UseEndpoint(endpoint, *found); !status.ok()) return status;
  // Anybody may listen at the port of a daemon that was killed, and only a certificate tells them apart.
  if (found->record.certificate_pem().empty() && KnownDead(found->record)) return NobodyAnswers(*found, "");
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(found->record, options);
  if (!channel.ok()) return channel.status();

  auto connection = std::make_shared<const Connection>(*std::move(found), options, *std::move(channel));
  if (options.contact) {
    v1::GetServerInfoResponse info;
    const absl::Status status = connection->Call(
        &Target::server, &v1::Server::Stub::PrepareAsyncGetInfo, v1::GetServerInfoRequest(), info,
        {.repeat = Repeat::kNever, .deadline = options.connect_timeout, .stop = Impl::TokenOf(cancellation)});
    if (absl::IsDeadlineExceeded(status)) {
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(options.connect_timeout);
      return NobodyAnswers(connection->found(), "nothing arrived within " + std::to_string(waited.count()) + " ms");
    }
    if (!status.ok()) return status;
  }
  const auto tear_down = [](Impl* impl) {
    if (!LibraryThread::IsThis()) {
      delete impl;
    } else {
      std::thread([impl] { delete impl; }).detach();
    }
  };
  return Client(std::shared_ptr<Impl>(new Impl(std::move(connection)), tear_down));
}

absl::StatusOr<std::vector<v1::KernelSpec>> Client::Kernels(const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::ListKernelsResponse response;
  const absl::Status status = c.Call(&Target::catalogue, &v1::Catalogue::Stub::PrepareAsyncListKernels, {}, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return std::vector<v1::KernelSpec>(std::move_iterator(response.mutable_kernels()->begin()),
                                     std::move_iterator(response.mutable_kernels()->end()));
}

absl::StatusOr<v1::KernelSpec> Client::Describe(const std::string& kernel, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the kernel's name", kernel); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  v1::DescribeKernelRequest request;
  request.set_kernel(kernel);
  v1::DescribeKernelResponse response;
  const absl::Status status = c.Call(&Target::catalogue, &v1::Catalogue::Stub::PrepareAsyncDescribeKernel, request,
                                     response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return std::move(*response.mutable_kernel());
}

absl::StatusOr<v1::TelemetrySnapshotResponse> Client::Telemetry(std::uint32_t history,
                                                                const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::TelemetrySnapshotRequest request;
  request.set_history(history);
  v1::TelemetrySnapshotResponse response;
  const absl::Status status = c.Call(&Target::telemetry, &v1::Telemetry::Stub::PrepareAsyncSnapshot, request, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::Status Client::WatchTelemetry(nanoseconds interval,
                                    const std::function<bool(const v1::TelemetrySample&)>& on_sample,
                                    const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::WatchTelemetryRequest request;
  ToWire(interval, *request.mutable_interval());
  bool enough = false;
  const auto on_message = [&](v1::WatchTelemetryResponse& response) {
    enough = !on_sample(response.sample());
    return enough ? WatchStep::kDone : WatchStep::kProgress;
  };
  return WatchStream<v1::WatchTelemetryResponse>(
      c,
      [&](const Target& target, grpc::ClientContext& context, bool /*again*/) {
        return target.telemetry->Watch(&context, request);
      },
      on_message, Impl::TokenOf(cancellation));
}

absl::StatusOr<v1::GetServerInfoResponse> Client::Info(const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::GetServerInfoResponse response;
  const absl::Status status = c.Call(&Target::server, &v1::Server::Stub::PrepareAsyncGetInfo, {}, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::ListCachesResponse> Client::ListCaches(const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::ListCachesResponse response;
  const absl::Status status = c.Call(&Target::server, &v1::Server::Stub::PrepareAsyncListCaches, {}, response,
                                     {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::ClearCachesResponse> Client::ClearCaches(const std::vector<std::string>& names) {
  const Connection& c = *impl_->connection;
  v1::ClearCachesRequest request;
  request.mutable_names()->Add(names.begin(), names.end());
  v1::ClearCachesResponse response;
  const absl::Status status =
      c.Call(&Target::server, &v1::Server::Stub::PrepareAsyncClearCaches, request, response, {});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::PruneJournalResponse> Client::PruneJournal(nanoseconds older_than) {
  const Connection& c = *impl_->connection;
  v1::PruneJournalRequest request;
  ToWire(older_than, *request.mutable_older_than());
  v1::PruneJournalResponse response;
  const absl::Status status =
      c.Call(&Target::server, &v1::Server::Stub::PrepareAsyncPruneJournal, request, response, {});
  if (!status.ok()) return status;
  return response;
}

absl::Status Client::Drain(std::optional<nanoseconds> timeout) {
  const Connection& c = *impl_->connection;
  v1::DrainRequest request;
  if (timeout) ToWire(*timeout, *request.mutable_timeout());
  v1::DrainResponse response;
  // Not repeated, like Shutdown: another start of the daemon is not meant.
  return c.Call(&Target::server, &v1::Server::Stub::PrepareAsyncDrain, request, response, {.repeat = Repeat::kNever});
}

absl::Status Client::Shutdown(std::optional<nanoseconds> drain_timeout) {
  const Connection& c = *impl_->connection;
  v1::ShutdownRequest request;
  if (drain_timeout) ToWire(*drain_timeout, *request.mutable_drain_timeout());
  v1::ShutdownResponse response;
  // Not repeated: a daemon that goes is not there to be asked again.
  return c.Call(&Target::server, &v1::Server::Stub::PrepareAsyncShutdown, request, response,
                {.repeat = Repeat::kNever});
}

absl::Status Client::CloseSession() {
  const Connection& c = *impl_->connection;
  v1::CloseSessionResponse response;
  return c.Call(&Target::server, &v1::Server::Stub::PrepareAsyncCloseSession, v1::CloseSessionRequest(), response);
}

const v1::EndpointRecord& Client::record() const { return impl_->connection->found().record; }
const std::string& Client::server_name() const { return record().name(); }
std::size_t Client::moves() const { return impl_->connection->moves(); }
const std::string& Client::session() const { return impl_->connection->session(); }

}  // namespace hotplate::client
