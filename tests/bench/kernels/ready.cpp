#include "tests/bench/kernels/ready.h"

#include <chrono>
#include <cstring>

#include "kernels/array/npy.h"
#include "kernels/base/status.h"
#include "tests/conformance/launch.h"

namespace hotplate::bench {

using conformance::Plain;

absl::StatusOr<std::unique_ptr<Ready>> Ready::Make(const Row& row, const Device& device) {
  const absl::StatusOr<SharedSpec> spec = BuiltinCatalog().Find(row.kernel);
  if (!spec.ok()) return spec.status();
  std::map<std::string, conformance::TestArray> arrays = row.inputs();
  for (const auto& [name, other] : row.same_as) arrays.emplace(name, arrays.at(other));
  std::map<std::string, Signature> signatures;
  for (const auto& [name, array] : arrays) signatures.emplace(name, array.signature());

  absl::StatusOr<BoundCall> call = (*spec)->Bind(row.params, signatures, row.precision);
  if (!call.ok()) return call.status();
  const absl::StatusOr<MemoryPlan> plan = device.Plan(*call);
  if (!plan.ok()) return plan.status();
  for (std::size_t i = 0; i < call->outputs.size(); ++i) {
    conformance::TestArray output(call->outputs[i]);
    std::memset(output.data(), 0, output.bytes());  // its pages are there when the clock runs
    arrays.emplace((*spec)->outputs()[i].name, std::move(output));
  }
  std::unique_ptr<Ready> ready(new Ready(**spec, *std::move(call), std::move(arrays)));
  ready->task_.scratch_bytes = plan->scratch_bytes;
  return ready;
}

Ready::Ready(const KernelSpec& spec, BoundCall call, std::map<std::string, conformance::TestArray> arrays)
    : spec_(spec), call_(std::move(call)), hash_(spec.Hash()), arrays_(std::move(arrays)) {
  for (const ArgumentSpec& input : spec_.inputs()) inputs_.push_back(Plain(input.name, arrays_.at(input.name)));
  sizes_.resize(spec_.outputs().size());
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const std::string& name = spec_.outputs()[i].name;
    outputs_.push_back(Plain(name, arrays_.at(name)));
    if (spec_.output_rules()[i].shape.at_most) outputs_.back().actual_size = &sizes_[i];
  }
  for (std::size_t i = 0; i < call_.params.size(); ++i) params_.push_back(Plain(spec_.params()[i], call_.params[i]));
  task_.kernel = spec_.name().c_str();
  task_.spec_hash = hash_.c_str();
  task_.call.params = params_.data();
  task_.call.inputs = inputs_.data();
  task_.call.outputs = outputs_.data();
  task_.call.param_count = static_cast<std::int32_t>(params_.size());
  task_.call.input_count = static_cast<std::int32_t>(inputs_.size());
  task_.call.output_count = static_cast<std::int32_t>(outputs_.size());
  task_.call.precision = call_.precision;
}

absl::StatusOr<Times> Ready::Run(Lane& lane) {
  TaskControl control;
  const auto start = std::chrono::steady_clock::now();
  const Report report = lane.Run(task_, control);
  const auto end = std::chrono::steady_clock::now();
  if (!report.outcome.ok()) return absl::InternalError(spec_.name() + ": " + std::string(report.outcome.message()));
  if (!report.kernel_ns.has_value()) return absl::InternalError(spec_.name() + ": it was not timed");
  return Times{.kernel_ns = *report.kernel_ns,
               .host_to_device_ns = report.host_to_device_ns.value_or(0),
               .device_to_host_ns = report.device_to_host_ns.value_or(0),
               .whole_ns = static_cast<std::uint64_t>((end - start).count())};
}

absl::Status Ready::Save(const std::vector<hotplate_array>& arrays, const std::string& folder) {
  for (const hotplate_array& array : arrays) {
    Signature signature{static_cast<DType>(array.dtype), Shape(array.shape, array.shape + array.rank)};
    if (array.actual_size != nullptr) signature.shape.front() = *array.actual_size;
    std::variant<AtomicFile, NpyError> file = AtomicFile::Create(folder + "/" + array.name + ".npy");
    if (const auto* error = std::get_if<NpyError>(&file)) return absl::InternalError(error->message);
    AtomicFile& out = std::get<AtomicFile>(file);
    const std::string header = NpyHeaderFor(signature);
    std::optional<NpyError> error = out.Write(std::as_bytes(std::span(header)));
    if (!error.has_value())
      error = out.Write({static_cast<const std::byte*>(array.data), ByteSize(signature).value_or(0)});
    if (!error.has_value()) error = out.Commit();
    if (error.has_value()) return absl::InternalError(error->message);
  }
  return absl::OkStatus();
}

}  // namespace hotplate::bench
