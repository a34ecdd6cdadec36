// What must hold for any bytes that claim to be an .npy file. Ends the process where it does not.
#pragma once

#include <cstddef>
#include <span>

namespace hotplate {

// Parses `bytes` as a header, then opens them as a file and reads its array, if it is small. True if it was accepted.
bool ProbeNpy(std::span<const std::byte> bytes);

}  // namespace hotplate
