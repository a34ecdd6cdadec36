#include "kernels/catalogue/expression/cpu/run.h"

#include "kernels/catalogue/expression/cpu/pass_run.h"

namespace hotplate::expression {

Outcome Run(const Machine& machine, const RunArrays& arrays, CpuContext& context) {
  const CpuContext::Part whole;
  Outcome warned = Outcome::Ok();
  for (std::size_t i = 0; i < machine.passes.size(); ++i) {
    PassRun pass(machine, machine.passes[i], arrays, context);
    const Outcome outcome = pass.Run(whole.Step(i, machine.passes.size()));
    if (!outcome.ok()) return outcome;
    if (warned.message().empty()) warned = outcome;
  }
  return warned;
}

}  // namespace hotplate::expression
