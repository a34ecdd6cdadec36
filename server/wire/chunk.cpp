#include "server/wire/chunk.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace hotplate::wire {
namespace {

constexpr std::size_t kLongestId = 128;
constexpr std::uint64_t kArrayIdField = 1, kOffsetField = 2, kDataField = 15;
enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// Reads a message that lies in several slices.
class Cursor {
 public:
  explicit Cursor(const std::vector<grpc::Slice>& slices) : slices_(slices) { SkipEmpty(); }

  bool AtEnd() const { return slice_ == slices_.size(); }

  std::optional<std::uint8_t> Byte() {
    if (AtEnd()) return std::nullopt;
    const std::uint8_t byte = slices_[slice_].begin()[position_++];
    SkipEmpty();
    return byte;
  }

  std::optional<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const std::optional<std::uint8_t> byte = Byte();
      if (!byte) return std::nullopt;
      if (shift == 63 && (*byte & 0xFE) != 0) return std::nullopt;
      value |= std::uint64_t{*byte & 0x7Fu} << shift;
      if ((*byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  // Passes the next `count` bytes to `sink`, piece by piece; false if there are fewer.
  template <typename Sink>
  bool Take(std::uint64_t count, Sink&& sink) {
    while (count > 0) {
      if (AtEnd()) return false;
      const grpc::Slice& slice = slices_[slice_];
      const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, slice.size() - position_));
      sink(std::span<const std::uint8_t>(slice.begin() + position_, piece));
      position_ += piece;
      count -= piece;
      SkipEmpty();
    }
    return true;
  }

 private:
  void SkipEmpty() {
    while (slice_ < slices_.size() && position_ == slices_[slice_].size()) {
      ++slice_;
      position_ = 0;
    }
  }

  const std::vector<grpc::Slice>& slices_;
  std::size_t slice_ = 0, position_ = 0;
};

bool Skip(Cursor& cursor, std::uint64_t wire_type) {
  const auto ignore = [](std::span<const std::uint8_t>) {};
  switch (wire_type) {
    case kVarint:
      return cursor.Varint().has_value();
    case kFixed64:
      return cursor.Take(8, ignore);
    case kLengthDelimited: {
      const std::optional<std::uint64_t> length = cursor.Varint();
      return length && cursor.Take(*length, ignore);
    }
    case kFixed32:
      return cursor.Take(4, ignore);
    default:
      return false;
  }
}

absl::Status Malformed() { return absl::InvalidArgumentError("the message is not a hotplate.v1.WriteArrayRequest"); }

void AppendVarint(std::uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

}  // namespace

absl::Status WriteChunk::Parse(const grpc::ByteBuffer& message) {
  slices_.clear();
  array_id_.clear();
  offset_ = 0;
  data_.clear();
  data_size_ = 0;
  if (!message.Valid()) return absl::OkStatus();  // an empty message
  if (!message.Dump(&slices_).ok()) return Malformed();
  Cursor cursor(slices_);
  while (!cursor.AtEnd()) {
    const std::optional<std::uint64_t> tag = cursor.Varint();
    if (!tag || *tag > UINT32_MAX || (*tag >> 3) == 0) return Malformed();
    const std::uint64_t field = *tag >> 3, wire_type = *tag & 7;
    if (field == kOffsetField && wire_type == kVarint) {
      const std::optional<std::uint64_t> offset = cursor.Varint();
      if (!offset) return Malformed();
      offset_ = *offset;
    } else if ((field == kArrayIdField || field == kDataField) && wire_type == kLengthDelimited) {
      const std::optional<std::uint64_t> length = cursor.Varint();
      if (!length) return Malformed();
      if (field == kArrayIdField) {
        if (*length > kLongestId) {
          return absl::InvalidArgumentError("array_id is longer than any id or name of an array (128 bytes)");
        }
        array_id_.clear();
        const auto append = [this](std::span<const std::uint8_t> piece) {
          array_id_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        };
        if (!cursor.Take(*length, append)) return Malformed();
      } else {
        if (*length > kMaxChunkBytes) {
          return absl::InvalidArgumentError("data has more than 4194304 bytes, the most that one message may carry");
        }
        data_.clear();  // the last one wins, as for every field
        data_size_ = static_cast<std::size_t>(*length);
        if (!cursor.Take(*length, [this](std::span<const std::uint8_t> piece) { data_.push_back(piece); })) {
          return Malformed();
        }
      }
    } else if (!Skip(cursor, wire_type)) {
      return Malformed();
    }
  }
  const auto strange = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (std::any_of(array_id_.begin(), array_id_.end(), strange)) return Malformed();  // no id or name has such bytes
  return absl::OkStatus();
}

void WriteChunk::CopyData(std::span<std::byte> destination) const {
  std::size_t position = 0;
  for (const std::span<const std::uint8_t> piece : data_) {
    std::memcpy(destination.data() + position, piece.data(), piece.size());
    position += piece.size();
  }
}

grpc::ByteBuffer MakeReadChunk(std::shared_ptr<const HostBuffer> buffer, std::uint64_t offset, std::size_t length) {
  std::string head;
  if (offset != 0) {
    AppendVarint(1 << 3 | kVarint, head);
    AppendVarint(offset, head);
  }
  if (length == 0) {
    const grpc::Slice slice(head);
    return grpc::ByteBuffer(&slice, 1);
  }
  AppendVarint(kDataField << 3 | kLengthDelimited, head);
  AppendVarint(length, head);
  using Hold = std::shared_ptr<const HostBuffer>;
  // gRPC only reads slices that it is given to send.
  auto* memory = const_cast<std::byte*>(buffer->data() + offset);
  const grpc::Slice slices[] = {
      grpc::Slice(head),
      grpc::Slice(
          memory, length, [](void* hold) { delete static_cast<Hold*>(hold); }, new Hold(std::move(buffer)))};
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace hotplate::wire
