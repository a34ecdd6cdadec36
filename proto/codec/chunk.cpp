#include "proto/codec/chunk.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace hotplate::codec {
namespace {

constexpr std::size_t kLongestId = 128;
// Fields by their numbers in hotplate/v1/arrays.proto.
constexpr std::uint64_t kWriteIdField = 1, kWriteOffsetField = 2, kReadOffsetField = 1, kDataField = 15, kNoField = 0;
enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// `head` with `data` behind it, as the field that it is.
grpc::ByteBuffer WithData(std::string head, const grpc::Slice& data) {
  if (data.size() == 0) {
    const grpc::Slice only(head);
    return grpc::ByteBuffer(&only, 1);
  }
  AppendVarint(kDataField << 3 | kLengthDelimited, head);
  AppendVarint(data.size(), head);
  const grpc::Slice slices[] = {grpc::Slice(head), data};
  return grpc::ByteBuffer(slices, 2);
}

void AppendOffset(std::uint64_t field, std::uint64_t offset, std::string& head) {
  if (offset == 0) return;
  AppendVarint(field << 3 | kVarint, head);
  AppendVarint(offset, head);
}

// gRPC only reads slices that it is given to send; they just have no const.
void* Unconst(const std::byte* data) { return const_cast<std::byte*>(data); }

absl::Status Malformed() { return absl::InvalidArgumentError("the message is not a hotplate.v1.WriteArrayRequest"); }

absl::Status Broken(const std::string& what) {
  return absl::InternalError("the daemon sent a chunk of an array that " + what);
}

}  // namespace

grpc::ByteBuffer EncodeWrite(const std::string& array_id, std::uint64_t offset, const grpc::Slice& data) {
  std::string head;
  if (!array_id.empty()) {
    AppendVarint(kWriteIdField << 3 | kLengthDelimited, head);
    AppendVarint(array_id.size(), head);
    head += array_id;
  }
  AppendOffset(kWriteOffsetField, offset, head);
  return WithData(std::move(head), data);
}

grpc::ByteBuffer EncodeWrite(const std::string& array_id, std::uint64_t offset, std::span<const std::byte> data,
                             Borrowed& borrowed) {
  if (data.empty()) return EncodeWrite(array_id, offset, grpc::Slice());
  borrowed.count_.fetch_add(1, std::memory_order_relaxed);
  const auto give_back = [](void* count) {
    static_cast<std::atomic<int>*>(count)->fetch_sub(1, std::memory_order_release);
  };
  return EncodeWrite(array_id, offset, grpc::Slice(Unconst(data.data()), data.size(), give_back, &borrowed.count_));
}

grpc::ByteBuffer EncodeRead(std::shared_ptr<const HostBuffer> buffer, std::uint64_t offset, std::size_t length) {
  std::string head;
  AppendOffset(kReadOffsetField, offset, head);
  if (length == 0) return WithData(std::move(head), grpc::Slice());
  using Hold = std::shared_ptr<const HostBuffer>;
  void* const memory = Unconst(buffer->data() + offset);
  return WithData(std::move(head), grpc::Slice(
                                       memory, length, [](void* hold) { delete static_cast<Hold*>(hold); },
                                       new Hold(std::move(buffer))));
}

// Reads on through the slices of a message.
class Chunk::Cursor {
 public:
  explicit Cursor(const std::vector<grpc::Slice>& slices) : slices_(slices) { PassEmpty(); }

  bool AtEnd() const { return slice_ == slices_.size(); }

  std::optional<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70 && !AtEnd(); shift += 7) {
      const std::uint8_t byte = slices_[slice_].begin()[position_++];
      PassEmpty();
      if (shift == 63 && (byte & 0xFE) != 0) return std::nullopt;
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  // Passes `count` bytes, and puts them into `pieces` where it is one; false if there are not so many.
  bool Take(std::uint64_t count, Pieces* pieces) {
    if (pieces != nullptr) pieces->Clear();  // the last one wins, as for every field
    while (count > 0) {
      if (AtEnd()) return false;
      const grpc::Slice& slice = slices_[slice_];
      const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, slice.size() - position_));
      if (pieces != nullptr) {
        pieces->list.emplace_back(slice.begin() + position_, piece);
        pieces->size += piece;
      }
      position_ += piece;
      count -= piece;
      PassEmpty();
    }
    return true;
  }

 private:
  void PassEmpty() {
    while (slice_ < slices_.size() && position_ == slices_[slice_].size()) {
      ++slice_;
      position_ = 0;
    }
  }

  const std::vector<grpc::Slice>& slices_;
  std::size_t slice_ = 0, position_ = 0;
};

void Chunk::Pieces::Clear() {
  list.clear();
  size = 0;
}

void Chunk::Pieces::CopyTo(std::span<std::byte> destination) const {
  std::size_t position = 0;
  for (const std::span<const std::uint8_t> piece : list) {
    std::memcpy(destination.data() + position, piece.data(), piece.size());
    position += piece.size();
  }
}

bool Chunk::Parse(const grpc::ByteBuffer& message, std::uint64_t id_field, std::uint64_t offset_field) {
  slices_.clear();
  id_.Clear();
  data_.Clear();
  array_id_.clear();
  offset_ = 0;
  if (!message.Valid()) return true;  // an empty message
  if (!message.Dump(&slices_).ok()) return false;
  Cursor cursor(slices_);
  while (!cursor.AtEnd()) {
    const std::optional<std::uint64_t> tag = cursor.Varint();
    if (!tag || *tag > UINT32_MAX || (*tag >> 3) == 0) return false;
    const std::uint64_t field = *tag >> 3;
    switch (*tag & 7) {
      case kVarint: {
        const std::optional<std::uint64_t> value = cursor.Varint();
        if (!value) return false;
        if (field == offset_field) offset_ = *value;
        break;
      }
      case kLengthDelimited: {
        const std::optional<std::uint64_t> length = cursor.Varint();
        Pieces* const pieces = field == kDataField ? &data_ : field == id_field ? &id_ : nullptr;
        if (!length || !cursor.Take(*length, pieces)) return false;
        break;
      }
      case kFixed64:
        if (!cursor.Take(8, nullptr)) return false;
        break;
      case kFixed32:
        if (!cursor.Take(4, nullptr)) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

absl::Status Chunk::ParseWrite(const grpc::ByteBuffer& message) {
  if (!Parse(message, kWriteIdField, kWriteOffsetField)) return Malformed();
  if (id_.size > kLongestId) {
    return absl::InvalidArgumentError("array_id is longer than any id or name of an array (128 bytes)");
  }
  if (data_.size > kMaxChunkBytes) {
    return absl::InvalidArgumentError("data has more than 4194304 bytes, the most that one message may carry");
  }
  array_id_.resize(id_.size);
  id_.CopyTo(std::as_writable_bytes(std::span(array_id_)));
  const auto strange = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (std::any_of(array_id_.begin(), array_id_.end(), strange)) return Malformed();  // no id or name has such bytes
  return absl::OkStatus();
}

absl::Status Chunk::ParseRead(const grpc::ByteBuffer& message) {
  return Parse(message, kNoField, kReadOffsetField) ? absl::OkStatus() : Broken("cannot be read");
}

absl::StatusOr<std::size_t> DecodeRead(const grpc::ByteBuffer& message, std::uint64_t expected_offset,
                                       std::span<std::byte> array, std::uint64_t begin) {
  Chunk chunk;
  if (const absl::Status read = chunk.ParseRead(message); !read.ok()) return read;
  if (chunk.data_size() == 0) return 0;
  if (chunk.offset() != expected_offset) {
    return Broken("is at byte " + std::to_string(chunk.offset()) + " instead of " + std::to_string(expected_offset));
  }
  const std::uint64_t at = chunk.offset() - begin;
  if (at > array.size() || chunk.data_size() > array.size() - at) {
    return Broken("goes beyond the " + std::to_string(array.size()) + " bytes that were asked for");
  }
  chunk.CopyData(array.subspan(static_cast<std::size_t>(at)));
  return chunk.data_size();
}

}  // namespace hotplate::codec
