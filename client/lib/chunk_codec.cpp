#include "client/lib/chunk_codec.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace hotplate::client {
namespace {

// Field number << 3 | wire type: 0 is a varint, 2 has its length in front.
constexpr std::uint64_t kIdTag = 1 << 3 | 2;
constexpr std::uint64_t kWriteOffsetTag = 2 << 3 | 0;
constexpr std::uint64_t kReadOffsetTag = 1 << 3 | 0;
constexpr std::uint64_t kDataTag = 15 << 3 | 2;

void AppendVarint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

// Reads on through the slices of a message.
class Cursor {
 public:
  explicit Cursor(const std::vector<grpc::Slice>& slices) : slices_(slices) {
    for (const grpc::Slice& slice : slices_) left_ += slice.size();
  }

  std::size_t left() const { return left_; }

  std::optional<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      std::byte next;
      if (!Copy({&next, 1})) return std::nullopt;
      value |= (static_cast<std::uint64_t>(next) & 0x7f) << shift;
      if ((static_cast<unsigned>(next) & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  bool Copy(std::span<std::byte> to) {
    return Walk(to.size(), [&to](const std::uint8_t* from, std::size_t count) {
      std::memcpy(to.data(), from, count);
      to = to.subspan(count);
    });
  }

  bool Skip(std::uint64_t count) {
    return count <= left_ && Walk(static_cast<std::size_t>(count), [](const std::uint8_t*, std::size_t) {});
  }

 private:
  template <typename Visit>
  bool Walk(std::size_t count, Visit visit) {
    if (count > left_) return false;
    left_ -= count;
    while (count > 0) {
      const grpc::Slice& slice = slices_[index_];
      const std::size_t piece = std::min(count, slice.size() - at_);
      if (piece > 0) visit(slice.begin() + at_, piece);
      at_ += piece;
      count -= piece;
      if (at_ == slice.size()) {
        ++index_;
        at_ = 0;
      }
    }
    return true;
  }

  const std::vector<grpc::Slice>& slices_;
  std::size_t index_ = 0, at_ = 0, left_ = 0;
};

// A field that a newer daemon may have added.
bool SkipField(Cursor& cursor, std::uint64_t tag) {
  switch (tag & 7) {
    case 0:
      return cursor.Varint().has_value();
    case 1:
      return cursor.Skip(8);
    case 2: {
      const std::optional<std::uint64_t> length = cursor.Varint();
      return length && cursor.Skip(*length);
    }
    case 5:
      return cursor.Skip(4);
    default:
      return false;
  }
}

absl::Status Broken(const std::string& what) {
  return absl::InternalError("the daemon sent a chunk of an array that " + what);
}

}  // namespace

grpc::ByteBuffer EncodeWrite(const std::string& array_id, std::uint64_t offset, const grpc::Slice& data) {
  std::string head;
  if (!array_id.empty()) {
    AppendVarint(head, kIdTag);
    AppendVarint(head, array_id.size());
    head += array_id;
  }
  if (offset != 0) {
    AppendVarint(head, kWriteOffsetTag);
    AppendVarint(head, offset);
  }
  if (data.size() == 0) {
    const grpc::Slice only(head);
    return grpc::ByteBuffer(&only, 1);
  }
  AppendVarint(head, kDataTag);
  AppendVarint(head, data.size());
  const grpc::Slice slices[] = {grpc::Slice(head), data};
  return grpc::ByteBuffer(slices, 2);
}

grpc::ByteBuffer EncodeWrite(const std::string& array_id, std::uint64_t offset, std::span<const std::byte> data,
                             Borrowed& borrowed) {
  if (data.empty()) return EncodeWrite(array_id, offset, grpc::Slice());
  borrowed.count_.fetch_add(1, std::memory_order_relaxed);
  // gRPC reads only; its slices just have no const.
  auto* bytes = const_cast<std::byte*>(data.data());
  const auto give_back = [](void* count) {
    static_cast<std::atomic<int>*>(count)->fetch_sub(1, std::memory_order_release);
  };
  return EncodeWrite(array_id, offset, grpc::Slice(bytes, data.size(), give_back, &borrowed.count_));
}

absl::StatusOr<std::size_t> DecodeRead(const grpc::ByteBuffer& message, std::uint64_t expected_offset,
                                       std::span<std::byte> array, std::uint64_t begin) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return Broken("cannot be decompressed");
  Cursor cursor(slices);
  std::uint64_t offset = 0;
  std::size_t copied = 0;
  while (cursor.left() > 0) {
    const std::optional<std::uint64_t> tag = cursor.Varint();
    if (!tag) return Broken("ends within a field");
    if (*tag == kReadOffsetTag) {
      const std::optional<std::uint64_t> value = cursor.Varint();
      if (!value) return Broken("ends within its offset");
      offset = *value;
    } else if (*tag == kDataTag) {
      const std::optional<std::uint64_t> length = cursor.Varint();
      if (!length || *length > cursor.left()) return Broken("is shorter than it says");
      if (offset != expected_offset) {
        return Broken("is at byte " + std::to_string(offset) + " instead of " + std::to_string(expected_offset));
      }
      const std::uint64_t at = offset - begin;
      if (at > array.size() || *length > array.size() - at) {
        return Broken("goes beyond the " + std::to_string(array.size()) + " bytes that were asked for");
      }
      cursor.Copy(array.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(*length)));
      copied = static_cast<std::size_t>(*length);
    } else if (!SkipField(cursor, *tag)) {
      return Broken("has a field that cannot be read");
    }
  }
  return copied;
}

}  // namespace hotplate::client
