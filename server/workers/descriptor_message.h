// Messages with descriptors on their way to another process, over a socket that keeps the boundaries of messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/descriptor.h"

namespace hotplate::server {

inline constexpr std::size_t kMostDescriptors = 65;  // in one message: of a call's 64 inputs, and its code

// `text` has at least one byte. False, with errno, if it was not sent. `flags` are sendmsg's.
bool SendMessage(int socket, std::string_view text, std::span<const int> descriptors, int flags = 0);

struct ReceivedMessage {
  enum class What {
    kMessage,
    kNothing,  // none is there now
    kNoRoom,   // one was there whose descriptors this process has no room for
    kEnd,      // the other end has closed
  };
  What what = What::kNothing;
  std::string text;
  std::vector<Descriptor> descriptors;
};

// Of at most `bytes` bytes. `flags` are recvmsg's.
ReceivedMessage ReceiveMessage(int socket, std::size_t bytes, int flags = 0);

}  // namespace hotplate::server
