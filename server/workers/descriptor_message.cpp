#include "server/workers/descriptor_message.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hotplate::server {
namespace {

struct DescriptorRoom {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> bytes{};
};

}  // namespace

bool SendMessage(int socket, std::string_view text, std::span<const int> descriptors, int flags) {
  DescriptorRoom room;
  iovec data{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptors.size() > kMostDescriptors) {
    errno = EINVAL;
    return false;
  }
  if (!descriptors.empty()) {
    message.msg_control = room.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | flags) == static_cast<ssize_t>(text.size());
}

ReceivedMessage ReceiveMessage(int socket, std::size_t bytes, int flags) {
  ReceivedMessage received;
  received.text.resize(bytes);
  DescriptorRoom room;
  iovec data{received.text.data(), received.text.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes.data();
  message.msg_controllen = room.bytes.size();
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  received.text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) received.what = ReceivedMessage::What::kEnd;
    return received;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      received.descriptors.emplace_back(number);
    }
  }
  received.what = got == 0                                ? ReceivedMessage::What::kEnd
                  : (message.msg_flags & MSG_CTRUNC) != 0 ? ReceivedMessage::What::kNoRoom
                                                          : ReceivedMessage::What::kMessage;
  return received;
}

}  // namespace hotplate::server
