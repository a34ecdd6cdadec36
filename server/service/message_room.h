// Memory for the requests that are being worked on, of all clients together. gRPC's own quota counts a message until it
// is unpacked (ListenOptions::transport_bytes); from then on it counts here, as long as its call goes on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"

namespace hotplate::server {

// Thread-safe.
class MessageRoom {
 public:
  // Smaller ones always have room: whoever looks, frees or cancels must not wait for those who send much.
  static constexpr std::uint64_t kSmall = std::uint64_t{64} << 10;
  static constexpr std::uint64_t kGuestsPart = 4;  // a guest may have a quarter

  explicit MessageRoom(std::uint64_t bytes) : limit_(bytes) {}

  // Gives back what it holds when destroyed.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept {
      std::swap(room_, other.room_);
      std::swap(bytes_, other.bytes_);
      std::swap(guest_, other.guest_);
      return *this;
    }
    ~Place() {
      if (room_ != nullptr) room_->GiveBack(bytes_, guest_);
    }

   private:
    friend class MessageRoom;
    MessageRoom* room_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::string guest_;
  };

  // `guest`: the token's name; empty: the owner. RESOURCE_EXHAUSTED names the limit: nothing is to be unpacked then.
  absl::Status Take(std::uint64_t bytes, const std::string& guest, Place& place);

 private:
  void GiveBack(std::uint64_t bytes, const std::string& guest);

  const std::uint64_t limit_;
  Mutex mutex_;
  std::uint64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::uint64_t> by_guest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
