// Memory for the requests that are being worked on, of all clients together. gRPC's own quota counts a message until it
// is unpacked (ListenOptions::transport_bytes); from then on it counts here, as long as its call goes on. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hotplate::server {

class MessageRoom {
 public:
  // Smaller ones always have room: whoever looks, frees or cancels must not wait for those who send much.
  static constexpr std::uint64_t kSmall = std::uint64_t{64} << 10;

  explicit MessageRoom(std::uint64_t bytes) : limit_(bytes) {}

  // Gives back what it holds when destroyed.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : room_(std::exchange(other.room_, nullptr)), bytes_(other.bytes_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(room_, other.room_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Place() {
      if (room_ != nullptr) room_->held_ -= bytes_;
    }

   private:
    friend class MessageRoom;
    MessageRoom* room_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  // RESOURCE_EXHAUSTED names the limit: nothing is unpacked then.
  absl::Status Take(std::uint64_t bytes, Place& place) {
    if (bytes <= kSmall) return absl::OkStatus();
    const std::uint64_t others = held_.fetch_add(bytes);
    place.room_ = this;
    place.bytes_ = bytes;
    if (others + bytes <= limit_) return absl::OkStatus();
    place = Place();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the message has ", bytes, " bytes, and ", others, " of the ", limit_,
        " that inbox-bytes allows are taken by calls under way; try again later, or send fewer at a time"));
  }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> held_{0};
};

}  // namespace hotplate::server
