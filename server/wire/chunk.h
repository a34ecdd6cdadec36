// Chunks of arrays without copies on the way: hotplate.v1.WriteArrayRequest is read from, and ReadArrayResponse
// written to, gRPC's slices by hand, so that array bytes go straight between the wire and the array's own memory.
// The same bytes as the generated code makes and takes. Nothing here trusts its input.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/array/host_buffer.h"

namespace hotplate::wire {

inline constexpr std::size_t kMaxChunkBytes = std::size_t{4} << 20;

// One WriteArrayRequest whose data still lie in the received slices. Reusable: Parse keeps its memory.
class WriteChunk {
 public:
  // INVALID_ARGUMENT for anything but such a message, an id over 128 bytes, or data over kMaxChunkBytes.
  absl::Status Parse(const grpc::ByteBuffer& message);

  const std::string& array_id() const { return array_id_; }
  std::uint64_t offset() const { return offset_; }
  std::size_t data_size() const { return data_size_; }
  // `destination` must have at least data_size() bytes.
  void CopyData(std::span<std::byte> destination) const;

 private:
  std::vector<grpc::Slice> slices_;
  std::string array_id_;
  std::uint64_t offset_ = 0;
  std::vector<std::span<const std::uint8_t>> data_;
  std::size_t data_size_ = 0;
};

// A ReadArrayResponse whose data are a part of `buffer`, held until gRPC has sent it.
grpc::ByteBuffer MakeReadChunk(std::shared_ptr<const HostBuffer> buffer, std::uint64_t offset, std::size_t length);

}  // namespace hotplate::wire
