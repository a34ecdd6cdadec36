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

// What is said of a matrix of this dtype that LAPACK or cuSOLVER gave up; `info`: and what it means.
inline std::string GivenUp(const std::string& info, DType dtype) {
  return "the iteration did not converge (info " + info + "); scale the matrix" +
         (dtype == DType::kFloat32     ? ", or use float64"
          : dtype == DType::kComplex64 ? ", or use complex128"
                                       : "");
}
inline constexpr char kThreeLeft[] = "3: the number of off-diagonal elements that are not zero yet";

}  // namespace hotplate::conformance
