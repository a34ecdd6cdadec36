// A rate is a measurement: there is one for each direction that was asked for, positive, finite, and no faster than any
// memory of today (1e6 GB/s). How a rate comes from the passes' times: transfer_probe_test.cpp.
#include <cmath>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {

std::vector<Case> TransferProbeCases() {
  std::vector<Case> cases;
  for (const char* direction : {"host_to_device", "device_to_host", "device_to_device", "all"}) {
    for (const std::int64_t bytes : {4'096, 262'145, 1'000'003}) {
      cases.push_back({.name = std::string(direction) + "_" + std::to_string(bytes),
                       .params = {{"direction", direction}, {"bytes", bytes}},
                       .inputs = [](std::mt19937_64&) { return std::map<std::string, TestArray>(); }});
    }
  }
  return cases;
}

Verdict VerifyTransferProbe(const Executed& executed) {
  const auto rates = executed.Output("rates").Elements<double>();
  Verdict verdict;
  const std::size_t asked = executed.call.Choice("direction") == "all" ? 3 : 1;
  if (rates.size() != asked) verdict.Add(2, [&] { return std::to_string(rates.size()) + " rates"; });
  for (const double rate : rates) {
    verdict.Add(std::isfinite(rate) && rate > 0 && rate < 1e6 ? 0 : 2, [&] { return std::to_string(rate) + " GB/s"; });
  }
  return verdict;
}

}  // namespace hotplate::conformance
