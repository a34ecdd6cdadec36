// A message that is filled and emptied over and over on one stream. Its parts lie in one piece of memory that stays:
// a tiny job's request and its answer are some fifty parts, and allocating them one by one took as long as the job.
#pragma once

#include <google/protobuf/arena.h>

#include <cstddef>

namespace hotplate::server {

template <typename Message>
class ReusedMessage {
 public:
  ReusedMessage() : arena_(Options(first_block_)) { Renew(); }
  ReusedMessage(const ReusedMessage&) = delete;
  ReusedMessage& operator=(const ReusedMessage&) = delete;

  Message& operator*() { return *message_; }
  Message* operator->() { return message_; }
  // An empty one, in place of what was there.
  Message& Renew() {
    arena_.Reset();
    message_ = google::protobuf::Arena::CreateMessage<Message>(&arena_);
    return *message_;
  }

 private:
  static constexpr std::size_t kFirstBlock = 4096;  // what is larger takes more, and gives it back

  static google::protobuf::ArenaOptions Options(char* block) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block;
    options.initial_block_size = kFirstBlock;
    return options;
  }

  alignas(std::max_align_t) char first_block_[kFirstBlock];
  google::protobuf::Arena arena_;
  Message* message_ = nullptr;
};

}  // namespace hotplate::server
