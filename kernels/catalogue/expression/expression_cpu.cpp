// The CPU's side of an expression: its text is parsed and compiled once, and kept for the next call.
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/catalogue/expression/cpu/run.h"
#include "kernels/catalogue/expression/expression.h"
#include "kernels/expression/check.h"

namespace hotplate::expression {
namespace {

// The parameter that has the text; the others are numbers.
bool IsText(const hotplate_param& param) { return param.type == HOTPLATE_PARAM_CHOICE; }

DType DTypeOf(const hotplate_param& number) {
  switch (number.type) {
    case HOTPLATE_PARAM_BOOL:
      return DType::kBool;
    case HOTPLATE_PARAM_INT:
      return DType::kInt64;
    default:
      return DType::kFloat64;
  }
}

Shape ShapeOf(const hotplate_array& array) { return Shape(array.shape, array.shape + array.rank); }

std::string KeyOf(const Call& call, std::string_view text) {
  std::string key(text);
  const auto add = [&key](const char* name, std::int32_t dtype) {
    key.append(1, '\0').append(name).append(1, ' ').append(std::to_string(dtype));
  };
  for (const hotplate_array& input : call.inputs()) {
    add(input.name, input.dtype);
    for (const std::int64_t size : ShapeOf(input)) key.append(1, ' ').append(std::to_string(size));
  }
  for (const hotplate_param& param : call.params()) {
    if (!IsText(param)) add(param.name, -param.type);
  }
  return key;
}

std::variant<Machine, std::string> Made(const Call& call, std::string_view text) {
  std::vector<NamedInput> inputs;
  for (const hotplate_array& input : call.inputs()) {
    inputs.push_back({input.name, {.dtype = static_cast<DType>(input.dtype), .shape = ShapeOf(input)}});
  }
  std::vector<Scalar> scalars;
  for (const hotplate_param& param : call.params()) {
    if (!IsText(param)) scalars.push_back({param.name, DTypeOf(param)});
  }
  std::variant<Program, Error> checked = Check(text, inputs, scalars);
  if (const auto* error = std::get_if<Error>(&checked)) return error->message;
  return Compile(std::get<Program>(std::move(checked)));
}

// The machines that were used last. Thread-safe.
class Machines {
 public:
  std::shared_ptr<const Machine> Find(const std::string& key) {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    machines_.splice(machines_.begin(), machines_, found->second);
    return found->second->machine;
  }
  void Add(const std::string& key, std::shared_ptr<const Machine> machine) {
    const MutexLock lock(mutex_);
    if (by_key_.contains(key)) return;  // another call made it meanwhile
    machines_.push_front({key, std::move(machine)});
    by_key_.emplace(machines_.front().key, machines_.begin());
    if (machines_.size() <= kMost) return;
    by_key_.erase(machines_.back().key);
    machines_.pop_back();
  }

 private:
  static constexpr std::size_t kMost = 64;
  struct Kept {
    std::string key;
    std::shared_ptr<const Machine> machine;
  };

  Mutex mutex_;
  std::list<Kept> machines_ ABSL_GUARDED_BY(mutex_);  // the last used first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

RunArrays ArraysOf(const Call& call, const Program& program) {
  RunArrays arrays;
  for (const hotplate_array& input : call.inputs()) {
    arrays.inputs.push_back(static_cast<const std::byte*>(input.data));
    arrays.names.emplace_back(input.name);
  }
  for (const Output& output : program.outputs) {
    arrays.outputs.push_back(static_cast<std::byte*>(call.OutputArray(output.name).data));
  }
  for (const Scalar& scalar : program.scalars) {
    for (const hotplate_param& param : call.params()) {
      if (scalar.name == param.name) arrays.numbers.push_back({.integer = param.integer, .real = param.real});
    }
  }
  return arrays;
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  static Machines& machines = *new Machines;
  std::string_view text;
  for (const hotplate_param& param : call.params()) {
    if (IsText(param)) text = param.text;
  }
  const std::string key = KeyOf(call, text);
  std::shared_ptr<const Machine> machine = machines.Find(key);
  if (machine == nullptr) {
    std::variant<Machine, std::string> made = Made(call, text);
    if (const auto* error = std::get_if<std::string>(&made)) {
      return Outcome::Failed("expression: this back-end cannot compute it: " + *error);
    }
    machine = std::make_shared<const Machine>(std::get<Machine>(std::move(made)));
    machines.Add(key, machine);
  }
  return Run(*machine, ArraysOf(call, machine->program), context);
}

}  // namespace hotplate::expression
