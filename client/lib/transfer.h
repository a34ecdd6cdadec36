// The bulk path: an array's bytes to and from the daemon, straight out of and into the caller's memory, in chunks,
// resumed by offset when the stream breaks. Everything here waits, on the calling thread and on its own completion
// queue; no other thread takes part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "client/lib/client.h"
#include "client/lib/connection.h"

namespace hotplate::client {

// Bytes done so far, from 0; on the calling thread.
using OnBytes = std::function<void(std::uint64_t)>;

struct TransferRules {
  Deadline until = std::nullopt;
  std::stop_token stop = {};
  OnBytes on_bytes = nullptr;
  // JobOptions::on_wait; its result is ignored here: a cancelled transfer is over.
  OnWait on_wait = nullptr;
};

// Fills an array made by Create. `bytes` is no longer referred to when this returns, whatever it returns. `shared`:
// others may send the same bytes to the same array; this call continues from the current end, and waits while others
// write. It also waits while the daemon still takes a broken stream of this call for a writer: until no byte has come
// for ConnectOptions::reconnect.
absl::Status Upload(const Connection& connection, const std::string& array_id, std::span<const std::byte> bytes,
                    const TransferRules& rules, bool shared = false);
// The same from a source. Only a few chunks are in memory at a time.
absl::Status Upload(const Connection& connection, const std::string& array_id, const ArraySource& source,
                    const TransferRules& rules, bool shared = false);

// Fills `destination` with the array's bytes from `offset` on. The array must have that many.
absl::Status Download(const Connection& connection, const std::string& array_id, std::uint64_t offset,
                      std::span<std::byte> destination, const TransferRules& rules);
// Hands all of the array's bytes to `take`. Only a few chunks are in memory at a time.
absl::Status Download(const Connection& connection, const std::string& array_id, const Signature& signature,
                      const TakePiece& take, const TransferRules& rules);

}  // namespace hotplate::client
