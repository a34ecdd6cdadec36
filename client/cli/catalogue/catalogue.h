// The catalogue that was built into this program: for kernels, describe, help and completion without a daemon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/catalogue.pb.h"

namespace hotplate::cli {

// Parsed at the first call.
const v1::CatalogueFile& EmbeddedCatalogue();

// For one of NumPy's names: "Here: hotplate run matmul A B", or that no kernel computes it.
std::optional<std::string> EquivalentOf(const std::vector<v1::KernelSpec>& kernels, const std::string& name);
// NOT_FOUND with the kernel for the same work, or else with the nearest names.
absl::Status NoKernel(const std::vector<v1::KernelSpec>& kernels, const std::string& name);
absl::StatusOr<v1::KernelSpec> FindKernel(const std::vector<v1::KernelSpec>& kernels, const std::string& name);

std::vector<v1::KernelSpec> EmbeddedKernels();

// "transpose_a" as an option: "--transpose-a".
std::string OptionName(const std::string& parameter);

// A kernel's whole spec for a reader: the page of `hotplate describe`, wrapped to this many columns (0: not wrapped).
std::string DescribeKernel(const v1::KernelSpec& kernel, int columns = 0);

// One parameter's type, default and range: "float", "1.67", "0 to 10".
std::string TypeText(const v1::ParamSpec& param);
std::string RangeText(const v1::ParamSpec& param);

}  // namespace hotplate::cli
