// hotplate kernels: the catalogue.
#include "client/cli/catalogue.h"
#include "client/cli/commands.h"
#include "client/cli/daemon_catalogue.h"
#include "client/cli/json.h"
#include "client/cli/table.h"

namespace hotplate::cli {
namespace {

std::string Names(const google::protobuf::RepeatedPtrField<v1::ArgumentSpec>& arguments) {
  std::vector<std::string> names;
  for (const v1::ArgumentSpec& argument : arguments) names.push_back(argument.name());
  return names.empty() ? "-" : Join(names, " ");
}

std::string Parameters(const v1::KernelSpec& kernel) {
  std::vector<std::string> names;
  for (const v1::ParamSpec& param : kernel.params()) names.push_back(OptionName(param.name()));
  return names.empty() ? "-" : Join(names, " ");
}

absl::Status Kernels(const Invocation& call) {
  const std::vector<v1::KernelSpec> kernels = KernelsThatApply(call);
  std::string names;
  Table table({"KERNEL", "WHAT IT COMPUTES", "INPUTS", "OUTPUTS", "PARAMETERS"});
  Table brief({"KERNEL", "INPUTS", "OUTPUTS", "WHAT IT COMPUTES"});
  for (const v1::KernelSpec& kernel : kernels) {
    names += kernel.name() + "\n";
    table.Row({"`" + kernel.name() + "`", kernel.summary(), Names(kernel.inputs()), Names(kernel.outputs()),
               Parameters(kernel)});
    brief.Row({kernel.name(), Names(kernel.inputs()), Names(kernel.outputs()), kernel.summary()});
  }
  call.output.Answer([&] { return call.arguments.Flag("markdown") ? table.Markdown() : brief.Text(); },
                     [&] {
                       v1::ListKernelsResponse list;
                       for (const v1::KernelSpec& kernel : kernels) *list.add_kernels() = kernel;
                       return ToJson(list);
                     },
                     names);
  return absl::OkStatus();
}

}  // namespace

Command KernelsCommand() {
  return {.name = "kernels",
          .group = Group::kKernels,
          .summary = "list the kernels that can be run",
          .details = "Works without a daemon; a daemon's own list wins where there is one.",
          .example = "hotplate kernels",
          .options = {{.names = "--markdown", .value = "", .help = "a table for a page in Markdown"}},
          .works_anywhere = true,
          .run = Kernels};
}

}  // namespace hotplate::cli
