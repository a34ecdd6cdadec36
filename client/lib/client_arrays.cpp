// The calls of Client about arrays.
#include "client/lib/impl.h"
#include "client/lib/job_run.h"
#include "client/lib/transfer.h"
#include "client/lib/wire.h"

namespace hotplate::client {
namespace {

using OnProgress = std::function<void(std::uint64_t, std::uint64_t)>;

TransferRules RulesFor(const OnProgress& on_progress, std::uint64_t total, std::stop_token stop) {
  TransferRules rules{.stop = std::move(stop)};
  if (on_progress) rules.on_bytes = [on_progress, total](std::uint64_t done) { on_progress(done, total); };
  return rules;
}

// An array as the daemon describes it, with a size that holds water: memory is reserved by it.
absl::StatusOr<std::pair<v1::Array, Signature>> ArrayToRead(const Connection& connection, const std::string& id,
                                                            const std::stop_token& stop) {
  if (const absl::Status text = CheckText("the array's id or name", id); !text.ok()) return text;
  v1::DescribeArrayRequest request;
  request.set_array_id(id);
  v1::DescribeArrayResponse response;
  const absl::Status status =
      connection.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncDescribe, request, response, {.stop = stop});
  if (!status.ok()) return status;
  absl::StatusOr<Signature> signature = FromWire(response.array().signature());
  if (!signature.ok()) return signature.status();
  if (*ByteSize(*signature) != response.array().bytes()) {
    return absl::InternalError("the daemon says that array " + id + ", " + ToString(*signature) + ", has " +
                               std::to_string(response.array().bytes()) + " bytes");
  }
  return std::pair(std::move(*response.mutable_array()), *std::move(signature));
}

absl::Status CheckPut(const PutOptions& options) {
  if (const absl::Status status = CheckText("the array's name", options.name); !status.ok()) return status;
  return CheckText("the device", options.device);
}

std::string NameIn(const std::string& name) { return name.empty() ? "array" : "array " + name; }

using UploadTo = std::function<absl::Status(const std::string& id)>;

// Creates an array and calls `upload` to fill it; frees it if that fails.
absl::StatusOr<v1::Array> PutOnce(const Connection& connection, const Signature& signature, const PutOptions& options,
                                  const std::stop_token& stop, const UploadTo& upload) {
  absl::StatusOr<v1::Array> array = CreateArray(connection, signature, options, std::nullopt, stop);
  // One without bytes is complete from the start.
  if (!array.ok() || array->state() == v1::ARRAY_STATE_READY) return array;
  const absl::Status status = upload(array->id());
  if (!status.ok()) {
    const absl::Status freed = FreeAll(connection, {array->id()});
    if (!stop.stop_requested()) return status;
    return absl::CancelledError(freed.ok()
                                    ? "the upload was abandoned and its array freed"
                                    : "the upload was abandoned; the daemon frees the array after its upload grace");
  }
  array->set_state(v1::ARRAY_STATE_READY);
  array->set_bytes_written(*ByteSize(signature));
  return array;
}

// `keeping`: the stream that keeps the session and so the array; null if the array has a lease.
absl::StatusOr<v1::Array> PutArray(const Connection& connection, RunStream* keeping, const Signature& signature,
                                   const PutOptions& options, const std::stop_token& stop, const UploadTo& upload) {
  return StartingOver(connection, [&] {
    if (keeping != nullptr) keeping->Open();
    auto array = PutOnce(connection, signature, options, stop, upload);
    if (keeping != nullptr) keeping->Open();  // of the daemon that has it, which may be another start
    return array;
  });
}

}  // namespace

absl::StatusOr<v1::Array> Client::Put(const ArrayView& view, const PutOptions& options,
                                      const Cancellation* cancellation) {
  if (const absl::Status status = CheckPut(options); !status.ok()) return status;
  if (const absl::Status status = CheckView(NameIn(options.name), view); !status.ok()) return status;
  const std::stop_token stop = Impl::TokenOf(cancellation);
  const Connection& connection = *impl_->connection;
  RunStream* keeping = options.lease ? nullptr : &impl_->stream();
  return PutArray(connection, keeping, view.signature, options, stop, [&](const std::string& id) {
    return Upload(connection, id, view.bytes, RulesFor(options.on_upload, view.bytes.size(), stop));
  });
}

absl::StatusOr<v1::Array> Client::Put(const ArraySource& source, const PutOptions& options,
                                      const Cancellation* cancellation) {
  if (const absl::Status status = CheckPut(options); !status.ok()) return status;
  if (const absl::Status status = CheckSignature(NameIn(options.name), source.signature); !status.ok()) return status;
  const std::stop_token stop = Impl::TokenOf(cancellation);
  const Connection& connection = *impl_->connection;
  RunStream* keeping = options.lease ? nullptr : &impl_->stream();
  return PutArray(connection, keeping, source.signature, options, stop, [&](const std::string& id) {
    return Upload(connection, id, source, RulesFor(options.on_upload, *ByteSize(source.signature), stop));
  });
}

absl::StatusOr<OutputArray> Client::GetPieces(const std::string& id_or_name, const TakePiece& take,
                                              const OnProgress& on_download, const Cancellation* cancellation) {
  const Connection& connection = *impl_->connection;
  const auto array = ArrayToRead(connection, id_or_name, Impl::TokenOf(cancellation));
  if (!array.ok()) return array.status();
  const auto& [described, signature] = *array;
  const absl::Status status = Download(connection, described.id(), signature, take,
                                       RulesFor(on_download, described.bytes(), Impl::TokenOf(cancellation)));
  if (!status.ok()) return status;
  return OutputArray{signature, nullptr, described.id()};
}

absl::StatusOr<OutputArray> Client::Get(const std::string& id_or_name, const OnProgress& on_download,
                                        const Cancellation* cancellation) {
  const Connection& connection = *impl_->connection;
  return StartingOver(connection, [&]() -> absl::StatusOr<OutputArray> {
    const auto array = ArrayToRead(connection, id_or_name, Impl::TokenOf(cancellation));
    if (!array.ok()) return array.status();
    const auto& [described, signature] = *array;
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = DownloadArray(
        connection, described.id(), signature, RulesFor(on_download, described.bytes(), Impl::TokenOf(cancellation)));
    if (!buffer.ok()) return buffer.status();
    return OutputArray{signature, *std::move(buffer), described.id()};
  });
}

absl::Status Client::GetInto(const std::string& id_or_name, std::span<std::byte> destination,
                             const OnProgress& on_download, const Cancellation* cancellation) {
  const Connection& connection = *impl_->connection;
  return StartingOver(connection, [&] {
    const auto array = ArrayToRead(connection, id_or_name, Impl::TokenOf(cancellation));
    if (!array.ok()) return array.status();
    const auto& [described, signature] = *array;
    if (described.bytes() != destination.size()) {
      return absl::InvalidArgumentError("array " + id_or_name + ", " + ToString(signature) + ", has " +
                                        std::to_string(described.bytes()) + " bytes; the destination has " +
                                        std::to_string(destination.size()));
    }
    return Download(connection, described.id(), 0, destination,
                    RulesFor(on_download, described.bytes(), Impl::TokenOf(cancellation)));
  });
}

absl::Status Client::GetRange(const std::string& id_or_name, std::uint64_t offset, std::span<std::byte> destination,
                              const OnProgress& on_download, const Cancellation* cancellation) {
  const Connection& connection = *impl_->connection;
  return StartingOver(connection, [&] {
    // Use the id from here on: a broken stream must resume in the same array, even if another one has the name by then.
    const auto array = ArrayToRead(connection, id_or_name, Impl::TokenOf(cancellation));
    if (!array.ok()) return array.status();
    return Download(connection, array->first.id(), offset, destination,
                    RulesFor(on_download, destination.size(), Impl::TokenOf(cancellation)));
  });
}

absl::StatusOr<v1::Array> Client::DescribeArray(const std::string& id_or_name, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the array's id or name", id_or_name); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  return StartingOver(c, [&]() -> absl::StatusOr<v1::Array> {
    v1::DescribeArrayRequest request;
    request.set_array_id(id_or_name);
    v1::DescribeArrayResponse response;
    const absl::Status status = c.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncDescribe, request, response,
                                       {.stop = Impl::TokenOf(cancellation)});
    if (!status.ok()) return status;
    return std::move(*response.mutable_array());
  });
}

absl::StatusOr<v1::ListArraysResponse> Client::Arrays(const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::ListArraysResponse response;
  const absl::Status status = c.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncList, v1::ListArraysRequest(),
                                     response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::Status Client::Free(const std::string& id_or_name, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the array's id or name", id_or_name); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  v1::FreeArrayRequest request;
  request.set_array_id(id_or_name);
  v1::FreeArrayResponse response;
  // Not repeated: by then the name may belong to another array.
  return c.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncFree, request, response,
                {.repeat = Repeat::kNever, .stop = Impl::TokenOf(cancellation)});
}

absl::StatusOr<v1::Array> Client::Renew(const std::string& id_or_name, nanoseconds lease,
                                        const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the array's id or name", id_or_name); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  return StartingOver(c, [&]() -> absl::StatusOr<v1::Array> {
    v1::RenewArrayRequest request;
    request.set_array_id(id_or_name);
    ToWire(lease, *request.mutable_lease());
    v1::RenewArrayResponse response;
    const absl::Status status = c.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncRenew, request, response,
                                       {.stop = Impl::TokenOf(cancellation)});
    if (!status.ok()) return status;
    return std::move(*response.mutable_array());
  });
}

absl::StatusOr<std::string> Client::SaveArray(const std::string& id_or_name, const Cancellation* cancellation) {
  if (const absl::Status text = CheckText("the array's id or name", id_or_name); !text.ok()) return text;
  const Connection& c = *impl_->connection;
  return StartingOver(c, [&]() -> absl::StatusOr<std::string> {
    v1::SaveArrayRequest request;
    request.set_array_id(id_or_name);
    v1::SaveArrayResponse response;
    const absl::Status status = c.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncSave, request, response,
                                       {.no_deadline = true, .stop = Impl::TokenOf(cancellation)});
    if (!status.ok()) return status;
    return std::move(*response.mutable_file());
  });
}

}  // namespace hotplate::client
