// A real number as exact text.
#pragma once

#include <string>

namespace hotplate {

// The shortest text that reads back as the same value, and is never taken for an integer: "2.0", "1e+06", "nan".
std::string RealText(double value);

}  // namespace hotplate
