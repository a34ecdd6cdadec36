#include "server/core/jobs/job_refs.h"

#include <variant>

namespace hotplate::core {

std::vector<NamedRef> RefsOf(const JobRequest& request) {
  std::vector<NamedRef> refs;
  for (const JobRef& job : request.after) refs.push_back({"after", &job, ""});
  for (const JobInput& input : request.inputs) {
    const auto* const output = std::get_if<OutputOf>(&input.source);
    if (output != nullptr) refs.push_back({"inputs." + input.name, &output->job, output->output});
  }
  return refs;
}

}  // namespace hotplate::core
