// Calls that their specs accept, with data that cannot be worked with: how they end, on every back-end the same.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/case.h"

namespace hotplate::conformance {

struct BadData {
  const char* kernel;
  Case test_case;
  int code;             // hotplate_outcome_code
  std::string message;  // the whole of it
};

std::vector<BadData> BadDataCases();

}  // namespace hotplate::conformance
