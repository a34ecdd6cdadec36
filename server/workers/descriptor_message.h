// Descriptors on their way to another process, over a socket with message boundaries.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/descriptor.h"

namespace hotplate::server {

inline constexpr std::size_t kMostDescriptors = 16;  // in one message

// False, with errno, if they were not sent. `flags` are sendmsg's.
bool SendDescriptors(int socket, std::span<const int> descriptors, int flags = 0);

// The next message's; empty if it has none, or this process has no room for them. Nothing: the other end has closed.
std::optional<std::vector<Descriptor>> ReceiveDescriptors(int socket);

}  // namespace hotplate::server
