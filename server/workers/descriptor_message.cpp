#include "server/workers/descriptor_message.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace hotplate::server {
namespace {

// A message of one byte, with room for descriptors beside it.
struct Message {
  explicit Message(std::size_t descriptors) {
    plain.msg_iov = &data;
    plain.msg_iovlen = 1;
    plain.msg_control = room.data();
    plain.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> room{};
  msghdr plain{};
};

}  // namespace

bool SendDescriptors(int socket, std::span<const int> descriptors, int flags) {
  Message message(descriptors.size());
  cmsghdr* const header = CMSG_FIRSTHDR(&message.plain);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  return sendmsg(socket, &message.plain, MSG_NOSIGNAL | flags) == 1;
}

std::optional<std::vector<Descriptor>> ReceiveDescriptors(int socket) {
  Message message(kMostDescriptors);
  const ssize_t got = recvmsg(socket, &message.plain, MSG_CMSG_CLOEXEC);
  if (got == 0) return std::nullopt;
  std::vector<Descriptor> received;
  const cmsghdr* const header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message.plain);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return received;
  for (std::size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    received.emplace_back(number);
  }
  if ((message.plain.msg_flags & MSG_CTRUNC) != 0) received.clear();
  return received;
}

}  // namespace hotplate::server
