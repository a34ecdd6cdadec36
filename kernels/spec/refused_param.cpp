#include "kernels/spec/refused_param.h"

#include "kernels/base/status.h"

namespace hotplate {

absl::Status RefusedParam(const BoundCall& call, const std::string& param, const std::string& otherwise) {
  return InvalidField("params." + param,
                      call.spec->name() + ": " + param + " is " + ToString(call.Param(param)) + "; " + otherwise);
}

}  // namespace hotplate
