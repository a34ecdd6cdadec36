// hotplate describe: all about one kernel.
#include "client/cli/catalogue/catalogue.h"
#include "client/cli/catalogue/daemon_catalogue.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/pager.h"

namespace hotplate::cli {
namespace {

absl::Status DescribeOne(const Invocation& call) {
  const auto kernel = FindKernel(KernelsThatApply(call), call.arguments.words()[0]);
  if (!kernel.ok()) return kernel.status();
  call.output.Answer([&] { return Paged(call.console, DescribeKernel(*kernel, WidthOf(call.console))); },
                     [&] { return ToJson(*kernel); }, kernel->summary());
  return absl::OkStatus();
}

}  // namespace

Command DescribeCommand() {
  return {
      .name = "describe",
      .group = Group::kKernels,
      .summary = "describe a kernel: inputs, outputs, parameters, cost, numerics",
      .details = "Works without a daemon; if there is one, shows the daemon's own description.",
      .example = "hotplate describe selu",
      .positionals = {{.name = "KERNEL", .help = "the kernel (hotplate kernels lists all)", .offer = Offer::kKernel}},
      .works_anywhere = true,
      .run = DescribeOne};
}

}  // namespace hotplate::cli
