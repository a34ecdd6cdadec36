// Where each kernel's conformance suite has passed, by the file that was built into this program.
#pragma once

#include <string>
#include <string_view>

namespace hotplate::cli {

// The places where a kernel has passed, in the file's order: "CPU x86-64, NVIDIA H200"; "-" for none. `file` has one
// line a place, "PLACE: KERNEL KERNEL …"; lines that begin with # are remarks.
std::string VerifiedOn(std::string_view file, const std::string& kernel);

// client/cli/catalogue/verified_on.txt as it was when this program was built.
std::string_view EmbeddedVerification();

}  // namespace hotplate::cli
