// What tells the elements of one array from those of another, for as long as the protocol lives.
#pragma once

#include <string>

#include "client/lib/client.h"

namespace hotplate::client {

// 32 hexadecimal digits of the request id, the signature and the bytes: the same in every process. It tells accidents
// apart (128 bits), not an adversary: whoever could make two arrays of one digest could only deceive themselves.
std::string ContentDigest(const std::string& request_id, const ArrayView& view);

}  // namespace hotplate::client
