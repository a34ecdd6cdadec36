// Advice on arguments of NumPy's functions that the kernel of the same name does not have.
#pragma once

#include <string>
#include <vector>

namespace hotplate::cli {

// "; write --ord p --p 3" for the option --ord with the value 3 of norm; empty if nothing is known. `option`: as typed,
// without its dashes; "no-NAME" counts as NAME with the value false.
std::string NumpyHint(const std::string& kernel, const std::string& option, const std::string& value);

// The same for all of the words that a kernel without inputs was given: "arange 10".
std::string NumpyHint(const std::string& kernel, const std::vector<std::string>& words);

}  // namespace hotplate::cli
