// Where each kernel's conformance suite has passed, by the file that was built into this program.
#pragma once

#include <string>
#include <string_view>

namespace hotplate::cli {

// The places of one kernel, in the file's order: "CPU x86-64, NVIDIA H200"; "-" where it has not passed anywhere.
// `file` has a line a place, "PLACE: KERNEL KERNEL …"; lines that begin with # are remarks.
std::string VerifiedOn(std::string_view file, const std::string& kernel);

// client/cli/verified_on.txt as it was when this program was built.
std::string_view EmbeddedVerification();

}  // namespace hotplate::cli
