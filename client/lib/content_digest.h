// A digest that tells the elements of one array from those of another, stable for as long as the protocol lives.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "client/lib/client.h"

namespace hotplate::client {

inline constexpr std::size_t kDigestBytes = 20;

// The first kDigestBytes of BLAKE2b over request id, signature and bytes, in hexadecimal: the same in every process.
std::string ContentDigest(const std::string& request_id, const ArrayView& view);
// The same for the elements read from a source, or its error.
absl::StatusOr<std::string> ContentDigest(const std::string& request_id, const ArraySource& source);

}  // namespace hotplate::client
