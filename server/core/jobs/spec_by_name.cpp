#include "server/core/jobs/spec_by_name.h"

#include <memory>
#include <utility>

namespace hotplate::core {

SharedSpec SpecByName(const std::string& name) {
  absl::StatusOr<KernelSpec> spec = KernelSpecBuilder(name, "known by its name alone").NoOutputs().Build();
  return spec.ok() ? std::make_shared<const KernelSpec>(*std::move(spec)) : SpecByName("unknown");
}

}  // namespace hotplate::core
