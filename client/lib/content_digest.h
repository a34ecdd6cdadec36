// What tells the elements of one array from those of another, for as long as the protocol lives.
#pragma once

#include <cstddef>
#include <string>

#include "client/lib/client.h"

namespace hotplate::client {

inline constexpr std::size_t kDigestBytes = 20;

// The first kDigestBytes of BLAKE2b over request id, signature and bytes, in hexadecimal: the same in every process.
std::string ContentDigest(const std::string& request_id, const ArrayView& view);

}  // namespace hotplate::client
