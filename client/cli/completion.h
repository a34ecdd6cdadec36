// Completion scripts, from the same tables that parse the command line.
#pragma once

#include <string>
#include <vector>

#include "hotplate/v1/catalogue.pb.h"

namespace hotplate::cli {

std::string BashCompletion(const std::vector<v1::KernelSpec>& kernels);
std::string ZshCompletion(const std::vector<v1::KernelSpec>& kernels);
std::string FishCompletion(const std::vector<v1::KernelSpec>& kernels);

}  // namespace hotplate::cli
