// The other jobs that a request names.
#pragma once

#include <string>
#include <vector>

#include "server/core/types.h"

namespace hotplate::core {

struct NamedRef {
  std::string field;   // of the request: "after", "inputs.a"
  const JobRef* job;   // in the request
  std::string output;  // that it takes; empty: it only comes after that job
};

std::vector<NamedRef> RefsOf(const JobRequest& request);

}  // namespace hotplate::core
