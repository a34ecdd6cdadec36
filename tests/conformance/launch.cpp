#include "tests/conformance/launch.h"

#include <cstring>

namespace hotplate::conformance {
namespace {

// FNV-1a: the same seed on every machine.
std::uint64_t Seed(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

hotplate_param Plain(const ParamSpec& spec, const ParamValue& value) {
  hotplate_param plain{};
  plain.name = spec.name.c_str();
  plain.type = static_cast<std::int32_t>(spec.type);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    plain.integer = *integer;
    if (spec.type == ParamType::kFloat) plain.real = static_cast<double>(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) plain.real = *real;
  if (const auto* boolean = std::get_if<bool>(&value)) plain.integer = *boolean ? 1 : 0;
  if (const auto* text = std::get_if<std::string>(&value)) plain.text = text->c_str();
  return plain;
}

hotplate_array Plain(const std::string& name, TestArray& array) {
  hotplate_array plain{};
  plain.name = name.c_str();
  plain.dtype = static_cast<std::int32_t>(array.signature().dtype);
  plain.rank = static_cast<std::int32_t>(array.signature().shape.size());
  std::copy(array.signature().shape.begin(), array.signature().shape.end(), plain.shape);
  plain.data = array.bytes() == 0 ? nullptr : array.data();  // what has no elements may have no memory
  plain.bytes = array.bytes();
  return plain;
}

absl::StatusOr<Launch> Prepare(const std::string& kernel, const Case& test_case, const Device& device,
                               bool deterministic) {
  const absl::StatusOr<SharedSpec> spec = BuiltinCatalog().Find(kernel);
  if (!spec.ok()) return spec.status();

  Launch launch;
  std::mt19937_64 random(Seed(kernel + "/" + test_case.name));
  launch.inputs = test_case.inputs(random);
  for (const auto& [name, other] : test_case.same_as) launch.inputs.emplace(name, launch.inputs.at(other));
  absl::StatusOr<BoundCall> call = Bind(**spec, test_case, launch.inputs, deterministic);
  if (!call.ok()) return call.status();
  launch.call = *std::move(call);
  const absl::StatusOr<MemoryPlan> plan = device.Plan(launch.call);
  if (!plan.ok()) return plan.status();
  launch.scratch_bytes = plan->scratch_bytes;
  return launch.Again();
}

Launch Launch::Again() const {
  Launch again{.call = call, .scratch_bytes = scratch_bytes, .inputs = inputs, .outputs = {}};
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    TestArray output(call.outputs[i]);
    output.Poison();
    again.outputs.emplace(call.spec->outputs()[i].name, std::move(output));
  }
  return again;
}

std::string FirstDifference(const Launch& one, const Launch& other) {
  for (const auto& [name, array] : one.outputs) {
    if (!array.SameBytes(other.outputs.at(name))) return name;
  }
  return "";
}

Report Launch::Run(Lane& lane, TaskControl& control) {
  const KernelSpec& spec = *call.spec;
  std::vector<hotplate_param> plain_params;
  for (std::size_t i = 0; i < call.params.size(); ++i) plain_params.push_back(Plain(spec.params()[i], call.params[i]));
  std::vector<hotplate_array> plain_inputs, plain_outputs;
  for (const ArgumentSpec& input : spec.inputs()) plain_inputs.push_back(Plain(input.name, inputs.at(input.name)));
  std::vector<std::int64_t> sizes(spec.outputs().size(), -1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string& name = spec.outputs()[i].name;
    plain_outputs.push_back(Plain(name, outputs.at(name)));
    if (spec.output_rules()[i].shape.at_most) plain_outputs.back().actual_size = &sizes[i];
  }

  const std::string hash = spec.Hash();
  Task task;
  task.kernel = spec.name().c_str();
  task.spec_hash = hash.c_str();
  task.call.params = plain_params.data();
  task.call.inputs = plain_inputs.data();
  task.call.outputs = plain_outputs.data();
  task.call.param_count = static_cast<std::int32_t>(plain_params.size());
  task.call.input_count = static_cast<std::int32_t>(plain_inputs.size());
  task.call.output_count = static_cast<std::int32_t>(plain_outputs.size());
  task.call.precision = call.precision;
  task.call.deterministic = call.deterministic ? 1 : 0;
  task.scratch_bytes = scratch_bytes;
  Report report = lane.Run(task, control);
  for (std::size_t i = 0; i < sizes.size() && report.outcome.ok(); ++i) {
    if (!spec.output_rules()[i].shape.at_most) continue;
    if (sizes[i] < 0 || sizes[i] > call.outputs[i].shape.front()) {
      report.outcome = Outcome::Failed("of " + spec.outputs()[i].name + " there are " + std::to_string(sizes[i]));
    } else {
      outputs.at(spec.outputs()[i].name).CutTo(sizes[i]);
    }
  }
  return report;
}

}  // namespace hotplate::conformance
