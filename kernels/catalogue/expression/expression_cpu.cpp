// The CPU's side of an expression: its text is parsed and compiled once, and kept for the next call.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kernels/base/last_used.h"
#include "kernels/catalogue/expression/cpu/run.h"
#include "kernels/catalogue/expression/expression.h"
#include "kernels/expression/call_program.h"

namespace hotplate::expression {
namespace {

std::variant<Machine, std::string> Made(const Call& call) {
  std::variant<Program, Error> checked = ProgramOf(call);
  if (const auto* error = std::get_if<Error>(&checked)) return error->message;
  return Compile(std::get<Program>(std::move(checked)));
}

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
  constexpr std::size_t kMost = 64;
  static LastUsed<std::shared_ptr<const Machine>>& machines = *new LastUsed<std::shared_ptr<const Machine>>(kMost);
  std::string key = KeyOf(call);
  std::shared_ptr<const Machine> machine = machines.Find(key);
  if (machine == nullptr) {
    std::variant<Machine, std::string> made = Made(call);
    if (const auto* error = std::get_if<std::string>(&made)) {
      return Outcome::Failed("expression: this back-end cannot compute it: " + *error);
    }
    machine = std::make_shared<const Machine>(std::get<Machine>(std::move(made)));
    machines.Add(std::move(key), machine);
  }
  return Run(*machine, ArraysOf(call, machine->program), context);
}

}  // namespace hotplate::expression
