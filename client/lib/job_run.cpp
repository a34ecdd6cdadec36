#include "client/lib/job_run.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "client/lib/content_digest.h"
#include "client/lib/status.h"
#include "client/lib/wire.h"

namespace hotplate::client {
namespace {

nanoseconds Since(Clock::time_point begin) { return std::chrono::duration_cast<nanoseconds>(Clock::now() - begin); }

absl::Status NoMemory(const std::string& what, std::size_t bytes) {
  return Exhausted("memory", "this machine has no " + std::to_string(bytes) + " bytes of memory for " + what);
}

absl::StatusOr<std::size_t> SizeOfOutput(const Signature& signature, const v1::JobResult::Output& output) {
  const std::size_t bytes = *ByteSize(signature);  // FromWire has seen to it that there is one
  if (output.has_inline_() && output.inline_().size() != bytes) {
    return absl::InternalError("the daemon sent " + std::to_string(output.inline_().size()) + " bytes for output " +
                               output.name() + ", " + ToString(signature) + ", which has " + std::to_string(bytes));
  }
  return bytes;
}

// None where it would be later than the clock can say.
Deadline DeadlineAfter(Clock::time_point begin, const std::optional<nanoseconds>& duration) {
  if (!duration || *duration >= Clock::time_point::max() - begin) return std::nullopt;
  return begin + *duration;
}

}  // namespace

absl::StatusOr<v1::Array> CreateArray(const Connection& connection, const Signature& signature,
                                      const PutOptions& options, Deadline until, const std::stop_token& stop) {
  if (stop.stop_requested()) return absl::CancelledError("cancelled before anything was sent");
  v1::CreateArrayRequest request;
  ToWire(signature, *request.mutable_signature());
  request.set_name(options.name);
  if (options.lease) ToWire(*options.lease, *request.mutable_lease());
  request.set_replace(options.replace);
  request.set_device(options.device);
  v1::CreateArrayResponse response;
  // Not repeated with this daemon: if the answer got lost, nobody would know the array.
  const absl::Status status = connection.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncCreate, request, response,
                                              {.repeat = Repeat::kAnew, .until = until});
  if (!status.ok()) return status;
  return std::move(*response.mutable_array());
}

absl::Status FreeAll(const Connection& connection, const std::vector<std::string>& ids, nanoseconds patience) {
  for (const std::string& id : ids) {
    v1::FreeArrayRequest request;
    request.set_array_id(id);
    v1::FreeArrayResponse response;
    const absl::Status status = connection.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncFree, request, response,
                                                {.repeat = Repeat::kNever, .deadline = patience});
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HostBuffer>> DownloadArray(const Connection& connection, const std::string& array_id,
                                                          const Signature& signature, const TransferRules& rules) {
  const std::size_t bytes = ByteSize(signature).value_or(0);
  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(bytes);
  if (!buffer) return NoMemory("array " + array_id, bytes);
  if (bytes == 0) return buffer;
  if (const absl::Status status = Download(connection, array_id, 0, buffer->bytes(), rules); !status.ok())
    return status;
  return buffer;
}

namespace {

// The result was fetched too late: the job is known, but its large output is gone.
absl::Status GoneError(const v1::JobResult::Output& output) {
  return absl::NotFoundError("output " + output.name() + " (array " + output.array_id() +
                             ") is no longer on the daemon: it was fetched already or freed, or its session or lease " +
                             "has ended; to have it again run the job again, under another request id if it had one");
}

// INVALID_ARGUMENT if a destination names none of the outputs. `Outputs`: messages with names.
template <typename Outputs>
absl::Status CheckDestinations(const std::map<std::string, std::span<std::byte>>& destinations,
                               const Outputs& outputs) {
  for (const auto& [name, destination] : destinations) {
    std::string names;
    bool found = false;
    for (const auto& output : outputs) {
      found |= output.name() == name;
      names += (names.empty() ? "" : ", ") + output.name();
    }
    if (!found) {
      return absl::InvalidArgumentError("a destination is given for output " + name +
                                        ", which the kernel has not; it has " + names);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CollectOutputs(const Connection& connection, const v1::JobResult& from, const IsKept& is_kept,
                            const JobOptions& options, const TransferRules& rules, JobResult& to) {
  const Clock::time_point begin = Clock::now();
  const auto& destinations = options.destinations;
  if (absl::Status status = CheckDestinations(destinations, from.outputs()); !status.ok()) return status;
  std::vector<std::pair<const v1::JobResult::Output*, std::size_t>> downloads;
  std::uint64_t total = 0;
  for (const v1::JobResult::Output& output : from.outputs()) {
    if (output.for_jobs()) continue;
    absl::StatusOr<Signature> signature = FromWire(output.signature());
    if (!signature.ok()) return signature.status();
    const absl::StatusOr<std::size_t> bytes = SizeOfOutput(*signature, output);
    if (!bytes.ok()) return bytes.status();
    OutputArray& array = to.outputs[output.name()];
    array.signature = *std::move(signature);
    const auto destination = destinations.find(output.name());
    if (destination != destinations.end() && destination->second.size() != *bytes) {
      return absl::InvalidArgumentError("output " + output.name() + ", " + ToString(array.signature) + ", has " +
                                        std::to_string(*bytes) + " bytes; its destination has " +
                                        std::to_string(destination->second.size()));
    }
    if (output.has_path()) {
      array.path = output.path();
      continue;
    }
    if (output.has_inline_()) {
      std::byte* to_bytes = nullptr;
      if (destination != destinations.end()) {
        // As with downloads, nothing is written to the caller's memory after a stop: it may be in use for something
        // else.
        if (rules.stop.stop_requested()) return absl::CancelledError("cancelled before the result was taken");
        to_bytes = destination->second.data();
      } else {
        array.buffer = HostBuffer::Allocate(*bytes);
        if (!array.buffer) return NoMemory("output " + output.name(), *bytes);
        to_bytes = array.buffer->data();
      }
      if (*bytes > 0) std::memcpy(to_bytes, output.inline_().data(), *bytes);
      continue;
    }
    const absl::StatusOr<bool> kept = is_kept(output);
    if (!kept.ok()) return kept.status();
    if (*kept) {
      array.id = output.array_id();
    } else {
      downloads.emplace_back(&output, *bytes);
      total += *bytes;
    }
  }
  std::uint64_t before = 0;
  for (const auto& [output, bytes] : downloads) {
    TransferRules one = rules;
    if (options.on_download) one.on_bytes = [&](std::uint64_t done) { options.on_download(before + done, total); };
    OutputArray& array = to.outputs[output->name()];
    absl::Status status;
    if (const auto destination = destinations.find(output->name()); destination != destinations.end()) {
      status = Download(connection, output->array_id(), 0, destination->second, one);
    } else if (options.take_output) {
      const TakePiece take = [&, name = output->name()](const Signature& signature, std::uint64_t offset,
                                                        std::span<const std::byte> piece) {
        return options.take_output(name, signature, offset, piece);
      };
      status = Download(connection, output->array_id(), array.signature, take, one);
    } else {
      absl::StatusOr<std::shared_ptr<HostBuffer>> buffer =
          DownloadArray(connection, output->array_id(), array.signature, one);
      status = buffer.status();
      if (buffer.ok()) array.buffer = *std::move(buffer);
    }
    if (absl::IsNotFound(status)) return GoneError(*output);
    if (!status.ok()) return status;
    before += bytes;
  }
  if (!downloads.empty()) to.timings.download += Since(begin);
  to.timings.bytes_down += total;
  return absl::OkStatus();
}

namespace {

// For a call of a function, whose outputs have no names before its end. Objects in its worker always stay.
bool IsKeptOfFunction(const JobOptions& options, const std::string& output) {
  return options.function && (output.front() == 'r' || (options.function->keep() && output != "value"));
}

}  // namespace

JobRun::JobRun(const Connection& connection, std::string kernel, std::map<std::string, Input> inputs,
               JobOptions options, std::stop_token stop, Deadline deadline)
    : connection_(connection),
      kernel_(std::move(kernel)),
      inputs_(std::move(inputs)),
      options_(std::move(options)),
      stop_(std::move(stop)),
      begin_(Clock::now()),
      deadline_(deadline) {}

Deadline JobRun::DeadlineOf(const JobOptions& options) { return DeadlineAfter(Clock::now(), options.deadline); }

bool JobRun::has_uploads() const { return HaveUploads(inputs_); }

absl::StatusOr<v1::JobSpec> JobRun::Prepare() {
  if (const absl::Status status = CheckCall(kernel_, inputs_, options_); !status.ok()) return status;
  if (has_uploads()) {
    absl::StatusOr<v1::JobSpec> spec = PrepareUploads();
    if (spec.ok() && !stop_.stop_requested()) return spec;
    const bool begun = !uploaded_.empty();
    const absl::Status freed = FreeUploads();
    if (!stop_.stop_requested()) return spec;
    return absl::CancelledError(
        !begun ? "cancelled before anything was uploaded; no job was submitted"
        : freed.ok()
            ? "the upload was abandoned and freed; no job was submitted"
            : "the upload was abandoned; the daemon frees the array after its upload grace; no job was submitted");
  }
  v1::JobSpec spec = SpecFor(kernel_, options_, connection_.request_ids());
  AddInputs(inputs_, ViewsAs::kInline, spec);
  return spec;
}

// All inputs but the small ones that together still fit into the request.
std::vector<std::string> JobRun::LargeInputs() const {
  std::vector<std::string> large;
  std::vector<std::pair<std::size_t, std::string>> by_size;
  for (const auto& [name, input] : inputs_) {
    if (const auto* view = std::get_if<ArrayView>(&input)) by_size.emplace_back(view->bytes.size(), name);
    if (std::holds_alternative<ArraySource>(input)) large.push_back(name);
  }
  std::sort(by_size.begin(), by_size.end());
  std::size_t together = 0;
  for (const auto& [bytes, name] : by_size) {
    together += bytes;
    if (together > kInlineInputBytes) large.push_back(name);
  }
  return large;
}

absl::StatusOr<v1::JobSpec> JobRun::PrepareUploads() {
  v1::CheckJobRequest check;
  *check.mutable_job() = SpecFor(kernel_, options_, connection_.request_ids());
  const std::string request_id = check.job().request_id();
  AddInputs(inputs_, ViewsAs::kSignature, *check.mutable_job());
  v1::CheckJobResponse answer;
  const absl::Status status = connection_.Call(&Target::jobs, &v1::Jobs::Stub::PrepareAsyncCheck, check, answer,
                                               {.until = deadline_, .stop = stop_});
  // An input that another job has yet to make has no shape before: the job itself is checked then.
  const bool is_made_later = std::any_of(inputs_.begin(), inputs_.end(), [](const auto& input) {
    return std::holds_alternative<OutputRef>(input.second);
  });
  if (!status.ok() && !(is_made_later && absl::IsFailedPrecondition(status))) return status;
  // Upload nothing for a job that will not be accepted.
  if (!answer.refusal().empty()) return Exhausted("device", answer.refusal());
  // The same payload finds this job, so its inputs need not go up again: their names are enough to compare.
  const bool known = !options_.request_id.empty() && !answer.known_job_id().empty();
  // For a known job the answer has no outputs, and the destinations are checked at its end.
  if (answer.outputs_size() > 0) {
    if (absl::Status fits = CheckDestinations(options_.destinations, answer.outputs()); !fits.ok()) return fits;
  }

  const Clock::time_point begin = Clock::now();
  const std::vector<std::string> large = LargeInputs();
  v1::JobSpec spec = SpecFor(kernel_, options_, connection_.request_ids());
  spec.set_request_id(request_id);
  // One and the same memory for two inputs (x and x) goes up once.
  std::map<std::pair<const void*, std::string>, std::string> there;
  const auto key_of = [](const Input& input) {
    const auto* view = std::get_if<ArrayView>(&input);
    const void* place = view != nullptr ? static_cast<const void*>(view->bytes.data()) : &input;
    return std::pair(place, ToString(*SignatureHere(input)));
  };
  std::uint64_t total = 0;
  for (const std::string& name : large) {
    const Input& input = inputs_.at(name);
    if (there.try_emplace(key_of(input)).second) total += ByteSize(*SignatureHere(input)).value_or(0);
  }
  for (const auto& [name, input] : inputs_) {
    if (std::find(large.begin(), large.end(), name) == large.end()) {
      AddInput(name, input, ViewsAs::kInline, spec);
      continue;
    }
    std::string& id = there[key_of(input)];
    if (id.empty()) {
      absl::StatusOr<std::string> there_as = known ? ArrayName(input) : UploadInput(name, input, total);
      if (!there_as.ok()) return there_as.status();
      id = *std::move(there_as);
    }
    AddInput(name, ArrayRef{id}, ViewsAs::kInline, spec);
  }
  if (!known) timings_.upload = Since(begin);
  return spec;
}

absl::StatusOr<std::string> JobRun::ArrayName(const Input& input) const {
  const auto* source = std::get_if<ArraySource>(&input);
  const absl::StatusOr<std::string> digest = source != nullptr
                                                 ? ContentDigest(options_.request_id, *source)
                                                 : ContentDigest(options_.request_id, std::get<ArrayView>(input));
  if (!digest.ok()) return digest.status();
  return "input-" + *digest;
}

absl::StatusOr<std::string> JobRun::UploadInput(const std::string& name, const Input& input, std::uint64_t total) {
  const auto* source = std::get_if<ArraySource>(&input);
  std::string array_name;
  if (!options_.request_id.empty()) {
    absl::StatusOr<std::string> name_of_content = ArrayName(input);
    if (!name_of_content.ok()) return name_of_content.status();
    array_name = *std::move(name_of_content);
  }
  TransferRules rules{.until = deadline_, .stop = stop_};
  const std::uint64_t before = timings_.bytes_up;
  if (options_.on_upload) {
    rules.on_bytes = [this, before, total](std::uint64_t done) { options_.on_upload(before + done, total); };
  }
  for (bool again = false;; again = true) {
    const absl::StatusOr<v1::Array> array = ArrayFor(*SignatureHere(input), array_name);
    // The daemon has no idea which input it was.
    if (!array.ok()) return Worded(array.status(), "input " + name + ": " + std::string(array.status().message()));
    if (array->state() == v1::ARRAY_STATE_READY) return array_name.empty() ? array->id() : array_name;
    uploaded_.push_back(array->id());
    const bool shared = !array_name.empty();
    const absl::Status status = source != nullptr
                                    ? Upload(connection_, array->id(), *source, rules, shared)
                                    : Upload(connection_, array->id(), std::get<ArrayView>(input).bytes, rules, shared);
    if (status.ok()) {
      timings_.bytes_up += ByteSize(*SignatureHere(input)).value_or(0);
      return array_name.empty() ? array->id() : array_name;
    }
    // The call that this one shared the array with has given it up.
    const bool lost = !array_name.empty() && absl::IsNotFound(status);
    if (!lost || again) return status;
  }
}

absl::StatusOr<v1::Array> JobRun::ArrayFor(const Signature& signature, const std::string& array_name) {
  absl::StatusOr<v1::Array> array = CreateArray(connection_, signature, {.name = array_name}, deadline_, stop_);
  if (!absl::IsAlreadyExists(array.status())) return array;
  // The same call was here before and goes on, or was lost on the way. It sent the same bytes as this one would.
  v1::DescribeArrayRequest request;
  request.set_array_id(array_name);
  v1::DescribeArrayResponse response;
  const absl::Status status = connection_.Call(&Target::arrays, &v1::Arrays::Stub::PrepareAsyncDescribe, request,
                                               response, {.until = deadline_, .stop = stop_});
  if (status.ok()) return std::move(*response.mutable_array());
  if (!absl::IsNotFound(status)) return status;
  return CreateArray(connection_, signature, {.name = array_name}, deadline_, stop_);
}

absl::Status JobRun::FreeUploads(nanoseconds patience) { return Free(std::exchange(uploaded_, {}), patience); }

absl::Status JobRun::Free(const std::vector<std::string>& ids, nanoseconds patience) const {
  const bool closes = closing_ != nullptr && closing_->source.stop_requested();
  if (closes && closing_->gave_up) return absl::DeadlineExceededError("the daemon did not answer");
  absl::Status status = FreeAll(connection_, ids, patience);
  if (closes && !status.ok()) closing_->gave_up = true;
  return status;
}

bool JobRun::ResultIsForNobody() const {
  const bool stopped = closing_ != nullptr && stop_.stop_requested();
  return stopped && options_.request_id.empty() && !options_.leave_result && !options_.detach_on_disconnect;
}

std::vector<std::string> JobRun::ArraysToFree(const v1::JobResult& result) const {
  std::vector<std::string> ids;
  for (const v1::JobResult::Output& output : result.outputs()) {
    const auto keep = options_.keep.find(output.name());
    const bool lasts = keep != options_.keep.end() && (!keep->second.array_name.empty() || keep->second.lease);
    if (output.has_array_id() && !lasts) ids.push_back(output.array_id());
  }
  return ids;
}

absl::StatusOr<JobResult> JobRun::Complete(absl::StatusOr<EndedJob> ended) {
  // If the connection is gone, freeing would only wait for it. The same holds for a daemon that hangs, which did not
  // confirm a cancel: wait a short time only.
  constexpr std::chrono::seconds kShort(1);
  if (!IsConnectionLoss(ended.status()))
    FreeUploads(absl::IsCancelled(ended.status()) ? kShort : kFreePatience).IgnoreError();
  if (!ended.ok()) return ended.status();
  if (absl::Status status = FromJobEnd(ended->end, ended->job_id); !status.ok()) return status;

  JobResult result;
  result.job_id = ended->job_id;
  result.timings = timings_;
  if (ended->end.has_sweep()) result.sweep = std::move(*ended->end.mutable_sweep());
  std::vector<std::string> downloaded;
  const auto is_kept = [this, &downloaded](const v1::JobResult::Output& output) -> absl::StatusOr<bool> {
    const bool kept = options_.keep.count(output.name()) > 0 || IsKeptOfFunction(options_, output.name());
    if (!kept) downloaded.push_back(output.array_id());
    return kept;
  };
  const absl::Status status = CollectOutputs(connection_, ended->end.result(), is_kept, options_,
                                             {.until = deadline_, .stop = stop_, .on_wait = options_.on_wait}, result);
  if (status.ok() && !options_.leave_result) Free(downloaded, kFreePatience).IgnoreError();
  if (status.ok() && options_.leave_result) result.left = std::move(downloaded);
  result.receipt = std::move(*ended->end.mutable_result()->mutable_receipt());
  result.timings.total = Since(begin_);
  if (status.ok()) return result;
  const bool freed = ResultIsForNobody() && Free(ArraysToFree(ended->end.result()), kShort).ok();
  return ResultLost(status, ended->job_id, freed);
}

}  // namespace hotplate::client
