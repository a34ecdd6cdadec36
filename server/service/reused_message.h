// A message that is filled and emptied over and over on one stream. Its parts lie in one piece of memory that stays:
// a tiny job's request and its answer are some fifty parts, and allocating them one by one took as long as the job.
#pragma once

#include <google/protobuf/arena.h>

#include <atomic>
#include <cstddef>

namespace hotplate::server {

// An arena that begins with its own memory. Larger messages take more, and give it back.
struct ArenaWithBlock {
  ArenaWithBlock() : arena(Options(first_block)) {}
  ArenaWithBlock(const ArenaWithBlock&) = delete;
  ArenaWithBlock& operator=(const ArenaWithBlock&) = delete;

  static constexpr std::size_t kFirstBlock = 4096;

  alignas(std::max_align_t) char first_block[kFirstBlock];
  google::protobuf::Arena arena;

 private:
  static google::protobuf::ArenaOptions Options(char* block) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block;
    options.initial_block_size = kFirstBlock;
    return options;
  }
};

template <typename Message>
class ReusedMessage {
 public:
  ReusedMessage() { Renew(); }
  ReusedMessage(const ReusedMessage&) = delete;
  ReusedMessage& operator=(const ReusedMessage&) = delete;

  Message& operator*() { return *message_; }
  Message* operator->() { return message_; }
  // Replaces the message by an empty one.
  Message& Renew() {
    memory_.arena.Reset();
    message_ = google::protobuf::Arena::CreateMessage<Message>(&memory_.arena);
    return *message_;
  }

  // To gRPC, for one read or write, and back when that is done, often on another thread. The order between the two is
  // gRPC's; it is made once more here for ThreadSanitizer, which does not see into that library.
  Message* Lend() {
    Message* const message = message_;  // read before it is handed over
    lent_.store(true, std::memory_order_release);
    return message;
  }
  void TakeBack() { lent_.exchange(false, std::memory_order_acquire); }

 private:
  ArenaWithBlock memory_;
  Message* message_ = nullptr;
  std::atomic<bool> lent_{false};
};

}  // namespace hotplate::server
