// Encodes WriteArrayRequest and decodes ReadArrayResponse by hand, so that an array's bytes go directly out of and into
// the caller's memory. Both messages end with their `data` field, and everything before it is a few bytes.
// tests/unit/client compares the codec with the generated classes.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace hotplate::client {

// Bytes of data in one message, well below every limit that a daemon can have.
inline constexpr std::size_t kChunkBytes = std::size_t{2} << 20;

// Counts the pieces of the caller's memory that gRPC still refers to. Must outlive them.
class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  bool any() const { return count_.load(std::memory_order_acquire) != 0; }

 private:
  friend grpc::ByteBuffer EncodeWrite(const std::string&, std::uint64_t, std::span<const std::byte>, Borrowed&);
  std::atomic<int> count_{0};
};

// A WriteArrayRequest that refers to `data` until `borrowed` has counted it back. `array_id` and `offset` go into the
// first message of a stream only: leave them empty and 0 in the others.
grpc::ByteBuffer EncodeWrite(const std::string& array_id, std::uint64_t offset, std::span<const std::byte> data,
                             Borrowed& borrowed);

// The same for a slice that gRPC owns and frees.
grpc::ByteBuffer EncodeWrite(const std::string& array_id, std::uint64_t offset, const grpc::Slice& data);

// Copies the data of a ReadArrayResponse to its place in `array` and returns the number of bytes. INTERNAL: the message
// is broken, is not at `expected_offset`, or does not fit into the array. If `array` is a part of an array, `begin` is
// its place in the whole; `expected_offset` counts in the whole too and is not before `begin`.
absl::StatusOr<std::size_t> DecodeRead(const grpc::ByteBuffer& message, std::uint64_t expected_offset,
                                       std::span<std::byte> array, std::uint64_t begin = 0);

}  // namespace hotplate::client
