#include "server/service/message_room.h"

#include "absl/strings/str_cat.h"

namespace hotplate::server {

absl::Status MessageRoom::Take(std::uint64_t bytes, const std::string& guest, Place& place) {
  if (bytes <= kSmall) return absl::OkStatus();
  MutexLock lock(mutex_);
  std::uint64_t limit = limit_, taken = held_;
  const char* whose = " that inbox-bytes allows";
  if (const auto its = by_guest_.find(guest); !guest.empty() && taken + bytes <= limit) {
    limit = limit_ / kGuestsPart;
    taken = its == by_guest_.end() ? 0 : its->second;
    whose = " that a guest may have of inbox-bytes";
  }
  if (taken + bytes > limit) {
    return absl::ResourceExhaustedError(absl::StrCat("the message has ", bytes, " bytes, and calls under way have ",
                                                     taken, " of the ", limit, whose,
                                                     "; try again later, or send fewer at a time"));
  }
  held_ += bytes;
  if (!guest.empty()) by_guest_[guest] += bytes;
  place.room_ = this;
  place.bytes_ = bytes;
  place.guest_ = guest;
  return absl::OkStatus();
}

void MessageRoom::GiveBack(std::uint64_t bytes, const std::string& guest) {
  MutexLock lock(mutex_);
  held_ -= bytes;
  if (guest.empty()) return;
  const auto its = by_guest_.find(guest);
  its->second -= bytes;
  if (its->second == 0) by_guest_.erase(its);
}

}  // namespace hotplate::server
