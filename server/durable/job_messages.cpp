#include "server/durable/job_messages.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "server/wire/job.h"
#include "server/wire/program.h"
#include "server/wire/status.h"
#include "server/wire/sweep.h"
#include "server/wire/values.h"
#include "server/workers/past_program.h"

namespace hotplate::server {
namespace {

core::StateChange ChangeFrom(const journal::Change& change) {
  return {change.sequence, static_cast<core::JobState>(change.state), change.time, change.device};
}

// What the daemon of that job had in memory, as long as there is memory for it.
std::shared_ptr<const HostBuffer> DataFrom(const v1::JobResult& inline_outputs, const std::string& name,
                                           core::ArrayStore* arrays) {
  if (arrays == nullptr) return nullptr;
  const auto& outputs = inline_outputs.outputs();
  const auto at = std::find_if(outputs.begin(), outputs.end(), [&](const auto& one) { return one.name() == name; });
  if (at == outputs.end()) return nullptr;
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = arrays->AllocateBuffer(at->inline_().size());
  if (!buffer.ok()) return nullptr;
  if (!at->inline_().empty()) std::memcpy((*buffer)->data(), at->inline_().data(), at->inline_().size());
  return *std::move(buffer);
}

bool HasFile(const journal::KeptJob& kept, const std::string& name) {
  return std::any_of(kept.results.begin(), kept.results.end(), [&](const auto& file) { return file.name == name; });
}

}  // namespace

std::shared_ptr<core::OutsideWork> PastProgramOf(const journal::KeptJob& kept, ProgramStreams::Everything printed) {
  const auto kind = kept.accepted.kernel == "python" ? ProgramJob::Kind::kPython : ProgramJob::Kind::kExec;
  return std::make_shared<PastProgram>(kind, std::move(printed));
}

journal::JobAccepted AcceptedRecord(const core::Job& job, const std::string& kernel, std::string request) {
  journal::JobAccepted record;
  record.number = job.sequence;
  record.time = job.change(0).time;
  record.owner = job.owner.token;
  record.session = job.owner.session.value();
  record.request_key = job.request_key;
  record.payload_hash = journal::Sha256Of(request);
  record.kernel = kernel;
  record.label = job.label;
  record.priority = job.priority;
  record.time_limit = job.time_limit;
  record.may_rerun = job.may_rerun;
  record.request = std::move(request);
  return record;
}

std::string PrintedAsMessage(const ProgramStreams& streams) {
  const ProgramStreams::Everything kept = streams.AllKept();
  v1::KeptOutput message;
  for (const OutputPiece& piece : kept.first) wire::ToProto(piece, *message.add_first());
  message.set_left_out(kept.left_out);
  for (const OutputPiece& piece : kept.last) wire::ToProto(piece, *message.add_last());
  return message.SerializeAsString();
}

std::string PrintedAsText(const ProgramStreams& streams, OutputStream stream) {
  const ProgramStreams::Everything kept = streams.AllKept();
  std::string text;
  const auto append = [&](const std::deque<OutputPiece>& pieces) {
    for (const OutputPiece& piece : pieces)
      if (piece.stream == stream) text += piece.text;
  };
  append(kept.first);
  // Nobody counted them by stream.
  if (kept.left_out > 0 && !text.empty())
    absl::StrAppend(&text, "\n[some of ", kept.left_out, " bytes are not kept]\n");
  append(kept.last);
  return text;
}

const PrintingWork* ProgramOf(const core::Job& job) {
  return journal::IsProgram(job.spec().name()) ? dynamic_cast<const PrintingWork*>(job.work.get()) : nullptr;
}

absl::StatusOr<ProgramStreams::Everything> PrintedFrom(const journal::KeptJob& kept) {
  v1::KeptOutput message;
  if (!message.ParseFromString(kept.outputs)) {
    return absl::DataLossError(absl::StrCat("the output of job ", kept.accepted.number, " is damaged in the journal"));
  }
  ProgramStreams::Everything printed;
  for (const v1::ProgramPiece& piece : message.first()) printed.first.push_back(wire::FromProto(piece));
  printed.left_out = message.left_out();
  for (const v1::ProgramPiece& piece : message.last()) printed.last.push_back(wire::FromProto(piece));
  return printed;
}

EndMessage EndAsMessage(const core::Job& job, const core::JobEnd& end, const wire::ReceiptFacts& facts) {
  v1::JobEnd message;
  wire::ToProto(end, job.id, job.spec().name(), facts, message);
  v1::JobResult inline_outputs;
  for (v1::JobResult::Output& output : *message.mutable_result()->mutable_outputs()) {
    if (output.has_inline_()) {
      v1::JobResult::Output& one = *inline_outputs.add_outputs();
      one.set_name(output.name());
      one.set_allocated_inline_(output.release_inline_());
    }
    if (output.has_array_id()) output.clear_array_id();  // it means nothing to another daemon
  }
  EndMessage made;
  made.end = message.SerializeAsString();
  if (inline_outputs.outputs_size() > 0) made.outputs = inline_outputs.SerializeAsString();
  if (const PrintingWork* const program = ProgramOf(job)) made.outputs = PrintedAsMessage(*program->streams());
  return made;
}

std::string EndWithoutData(const core::Job& job, const core::JobEnd& end, const wire::ReceiptFacts& facts) {
  core::JobEnd bare = end;
  for (core::JobOutputValue& output : bare.outputs) output.data = nullptr;
  return EndAsMessage(job, bare, facts).end;
}

std::string ReceiptAsJson(const core::Job& job, const core::JobEnd& end, const wire::ReceiptFacts& facts) {
  std::string json;
  if (!end.receipt) return json;
  v1::Receipt receipt;
  wire::ToProto(*end.receipt, job.id, job.spec().name(), facts, receipt);
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(receipt, &json, options).ok()) json.clear();
  return json;
}

journal::JobUse UseOf(const core::JobEnd& end, const wire::ReceiptFacts& facts) {
  journal::JobUse use;
  if (!end.receipt) return use;
  use.device_time = end.receipt->total - end.receipt->queue;
  const auto device = facts.devices.find(end.receipt->device);
  if (device != facts.devices.end() && device->second.backend != "cpu") use.gpu_time = use.device_time;
  use.energy_joules = end.receipt->conditions.energy_joules;
  return use;
}

std::string PlaceOf(const core::Job& job) {
  if (!journal::IsProgram(job.spec().name())) return "";
  v1::Program left;
  left.set_graph(job.graph);
  left.set_node(job.node);
  for (const core::JobId& id : job.depends_on) left.add_after()->set_job_id(id.value());
  return left.SerializeAsString();
}

namespace {

// Its graph, and the jobs on which it depends.
void DescribePlace(const journal::KeptJob& kept, core::RestoredJob& job) {
  const auto depends_on = [&job](const v1::JobRef& ref) {
    const core::JobId id(ref.job_id());
    if (std::find(job.depends_on.begin(), job.depends_on.end(), id) == job.depends_on.end())
      job.depends_on.push_back(id);
  };
  const auto describe = [&](const auto& message) {
    job.request.graph = message.graph();
    job.request.node = message.node();
    for (const v1::JobRef& ref : message.after()) depends_on(ref);
  };
  if (journal::IsProgram(kept.accepted.kernel)) {
    if (v1::Program program; program.ParseFromString(kept.accepted.request)) describe(program);
    return;
  }
  v1::JobSpec spec;
  if (!spec.ParseFromString(kept.accepted.request)) return;
  describe(spec);
  for (const v1::JobInput& input : spec.inputs()) {
    if (input.has_job_output()) depends_on(input.job_output().job());
  }
}

}  // namespace

core::RestoredJob RestoredFrom(const journal::KeptJob& kept) {
  const journal::JobAccepted& accepted = kept.accepted;
  core::RestoredJob job;
  job.number = accepted.number;
  job.owner = {accepted.owner, core::SessionId(accepted.session), core::Scope::kSubmit};
  job.request_key = accepted.request_key;
  job.request.kernel = accepted.kernel;
  job.request.label = accepted.label;
  job.request.priority = accepted.priority;
  job.request.time_limit = accepted.time_limit;
  job.request.payload_hash =
      journal::IsProgram(accepted.kernel) ? wire::PayloadHash(accepted.payload_hash) : wire::HashOf(accepted.request);
  for (const journal::Change& change : kept.changes) job.changes.push_back(ChangeFrom(change));
  job.fetched = kept.fetch_time.has_value();
  DescribePlace(kept, job);
  return job;
}

absl::StatusOr<core::JobEnd> EndFrom(const journal::KeptJob& kept, core::ArrayStore* arrays) {
  v1::JobEnd message;
  v1::JobResult inline_outputs;
  const bool outputs_are_good =
      journal::IsProgram(kept.accepted.kernel) || inline_outputs.ParseFromString(kept.outputs);
  if (!message.ParseFromString(kept.end) || !outputs_are_good) {
    return absl::DataLossError(absl::StrCat("the end of job ", kept.accepted.number, " is no message of one"));
  }
  core::JobEnd end{.state = static_cast<core::JobState>(kept.state), .error = {}, .outputs = {}, .receipt = {}};
  if (message.has_sweep()) {
    end.sweep = std::make_shared<const core::SweepOutcome>(wire::FromProto(message.sweep()));
  }
  if (message.has_error()) end.error = wire::FromProto(message.error());
  for (const v1::JobResult::Output& output : message.result().outputs()) {
    absl::StatusOr<Signature> signature =
        wire::FromProto(output.signature(), output.name(), std::numeric_limits<std::uint64_t>::max());
    if (!signature.ok()) return signature.status();
    core::JobOutputValue& value = end.outputs.emplace_back();
    value.name = output.name();
    value.signature = *std::move(signature);
    value.path = output.path();
    value.for_jobs = output.for_jobs();
    if (!value.path.empty()) continue;
    value.data = DataFrom(inline_outputs, output.name(), arrays);
    value.stored = value.data == nullptr && HasFile(kept, output.name());
  }
  if (message.result().has_receipt()) end.written_receipt = message.result().receipt().SerializeAsString();
  return end;
}

}  // namespace hotplate::server
