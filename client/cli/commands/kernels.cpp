// hotplate kernels: the catalogue.
#include <algorithm>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/catalogue/daemon_catalogue.h"
#include "client/cli/catalogue/verified.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/array/dtype.h"

namespace hotplate::cli {
namespace {

using Listed = google::protobuf::RepeatedPtrField<v1::ArgumentSpec>;

std::string Names(const Listed& arguments) {
  std::vector<std::string> names;
  for (const v1::ArgumentSpec& argument : arguments) names.push_back(argument.name());
  return names.empty() ? "-" : Join(names, " ");
}

// "`a` [m, k], `b` [k, n]"
std::string Shapes(const Listed& arguments) {
  std::vector<std::string> texts;
  for (const v1::ArgumentSpec& argument : arguments)
    texts.push_back("`" + argument.name() + "`" + (argument.shape().empty() ? "" : " [" + argument.shape() + "]"));
  return texts.empty() ? "-" : Join(texts, ", ");
}

// The element types that a caller may choose from, each once: those of inputs, or of the parameter that gives an
// output's type. For a kernel without such a choice, the output's types.
std::string DTypes(const v1::KernelSpec& kernel) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (ParseDType(name).has_value() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (const v1::TypeVariable& variable : kernel.type_variables())
    for (const int number : variable.dtypes())
      if (const auto dtype = DTypeFromNumber(number)) add(std::string(Name(*dtype)));
  for (const v1::ArgumentSpec& output : kernel.outputs())
    for (const v1::ParamSpec& param : kernel.params())
      if (param.name() == output.type())
        for (const std::string& choice : param.choices()) add(choice);
  if (names.empty())
    for (const v1::ArgumentSpec& output : kernel.outputs()) add(output.type());
  return names.empty() ? "-" : Join(names, " ");
}

std::string Cancel(const v1::KernelSpec& kernel) {
  return kernel.cancel_class() == v1::CANCEL_CLASS_CHUNKED
             ? "within " + std::to_string(kernel.cancel_bound_ms()) + " ms"
             : "when it ends";
}

absl::Status Kernels(const Invocation& call) {
  const std::vector<v1::KernelSpec> kernels = KernelsThatApply(call);
  std::string names;
  Table table({"kernel", "what it computes", "inputs", "outputs", "dtypes", "a cancel takes effect", "verified on"});
  Table brief({"KERNEL", "INPUTS", "OUTPUTS", "WHAT IT COMPUTES"});
  for (const v1::KernelSpec& kernel : kernels) {
    names += kernel.name() + "\n";
    table.Row({"`" + kernel.name() + "`", kernel.summary(), Shapes(kernel.inputs()), Shapes(kernel.outputs()),
               DTypes(kernel), Cancel(kernel), VerifiedOn(EmbeddedVerification(), kernel.name())});
    brief.Row({kernel.name(), Names(kernel.inputs()), Names(kernel.outputs()), kernel.summary()});
  }
  call.output.Answer(
      [&] { return call.arguments.Flag("markdown") ? table.Markdown() : brief.Text(WidthOf(call.console)); },
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
          .summary = "list the kernels that you can run",
          .details =
              "Works without a daemon; if there is one, shows the daemon's own list. --markdown prints a table with\n"
              "shapes, dtypes, how soon a cancel takes effect, and the devices on which each kernel's conformance\n"
              "suite has passed. On other devices the kernel has at most been compiled.",
          .example = "hotplate kernels",
          .options = {{.names = "--markdown",
                       .value = "",
                       .help = "print a table in Markdown with more about each kernel"}},
          .works_anywhere = true,
          .run = Kernels};
}

}  // namespace hotplate::cli
