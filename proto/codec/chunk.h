// Chunks of arrays without copies on the way: hotplate.v1.WriteArrayRequest and ReadArrayResponse are written to and
// read from gRPC's slices by hand, so that array bytes go straight between the wire and an array's own memory. Both
// messages end with their `data` field, and everything before it is a few bytes. The bytes are those of the generated
// classes (tests/unit/proto compares them). Nothing here trusts its input.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/array/host_buffer.h"

namespace hotplate::codec {

// Bytes of data in one message: what both sides send, and the most that a daemon takes.
inline constexpr std::size_t kChunkBytes = std::size_t{2} << 20;
inline constexpr std::size_t kMaxChunkBytes = std::size_t{4} << 20;

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

// The same of a slice that gRPC owns and gives back by itself.
grpc::ByteBuffer EncodeWrite(const std::string& array_id, std::uint64_t offset, const grpc::Slice& data);

// A ReadArrayResponse whose data are a part of `buffer`, held until gRPC has sent it.
grpc::ByteBuffer EncodeRead(std::shared_ptr<const HostBuffer> buffer, std::uint64_t offset, std::size_t length);

// A message whose data still lie in the slices it came in. Reusable: parsing keeps its memory.
class Chunk {
 public:
  // A WriteArrayRequest. INVALID_ARGUMENT for anything else, an id over 128 bytes, or data over kMaxChunkBytes.
  absl::Status ParseWrite(const grpc::ByteBuffer& message);
  // A ReadArrayResponse. INTERNAL for anything else.
  absl::Status ParseRead(const grpc::ByteBuffer& message);

  const std::string& array_id() const { return array_id_; }  // empty in a ReadArrayResponse
  std::uint64_t offset() const { return offset_; }
  std::size_t data_size() const { return data_.size; }
  // `destination` must have at least data_size() bytes.
  void CopyData(std::span<std::byte> destination) const { data_.CopyTo(destination); }

 private:
  // One field, in as many pieces as it lies in.
  struct Pieces {
    std::vector<std::span<const std::uint8_t>> list = {};
    std::size_t size = 0;

    void Clear();
    void CopyTo(std::span<std::byte> destination) const;
  };
  class Cursor;

  bool Parse(const grpc::ByteBuffer& message, std::uint64_t id_field, std::uint64_t offset_field);

  std::vector<grpc::Slice> slices_;
  Pieces id_, data_;
  std::string array_id_;
  std::uint64_t offset_ = 0;
};

// Copies the data of a ReadArrayResponse to their place in `array`, and returns how many bytes that were. INTERNAL:
// the message is broken, is not at `expected_offset`, or does not fit into the array. Of a part of an array `begin` is
// where it begins in the whole; `expected_offset`, also in the whole, is not before it.
absl::StatusOr<std::size_t> DecodeRead(const grpc::ByteBuffer& message, std::uint64_t expected_offset,
                                       std::span<std::byte> array, std::uint64_t begin = 0);

}  // namespace hotplate::codec
