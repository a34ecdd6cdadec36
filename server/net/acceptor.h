// Accepts connections for gRPC, whose own listener (1.51) stops for good after one failed accept, for example for lack
// of a descriptor (CVE-2023-4785). Here such failures are waited out, as often and as long as necessary.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/net/listening_socket.h"

namespace hotplate::server {

class Acceptor {
 public:
  struct Options {
    // Gets each connection, which is its own from then on. On the acceptor's thread.
    std::function<void(int descriptor)> take;
    // A sentence about connections that have to wait, once a minute at most. May be empty.
    std::function<void(const std::string&)> warn;
  };
  // RESOURCE_EXHAUSTED if there is no free descriptor even now.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(ListeningSocket socket, Options options);
  // Stops listening. When it returns, `take` is not called any more.
  ~Acceptor();

  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  Acceptor(ListeningSocket socket, int stop, Options options);

  void Loop();
  // Until the connection has one of the numbers for connections, which may be another one then. -1: stopped.
  int WithRoom(int connection);
  bool Pause(int error);

  ListeningSocket socket_;
  const int stop_;  // an event: readable once the end has come
  const Options options_;
  const std::uint64_t limit_;  // RLIMIT_NOFILE
  const int end_of_room_;      // the numbers from here on are for the daemon's own files and programs
  std::chrono::steady_clock::time_point silent_until_{};
  std::thread thread_;
};

}  // namespace hotplate::server
