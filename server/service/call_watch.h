// Counts the calls that are in memory, by connection, and has a connection ended that has too many.
//
// gRPC (1.51) bounds the open calls of a connection, and no more. A call that its client has reset is open no more, but
// its 25 KiB stay until gRPC is done with it, which it is not while it reads the next ones: a client that opens calls
// and resets them at once (CVE-2023-44487) took 250 MiB a second, and others were not served for minutes after it had
// left. Calls that have just ended are in memory for a moment, too, while their client opens the next ones: so a
// connection may have more in memory than it may have open. Thread-safe.
#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "kernels/base/mutex.h"

namespace hotplate::server {

class CallWatch {
 public:
  struct Options {
    int most_of_one = 0;  // calls of one connection that may be in memory
    int most = 0;         // of all connections; beyond it the one with most is ended
    // Ends the connection from a peer, as gRPC names it. False: it cannot, or there is none.
    std::function<bool(const std::string& peer)> drop;
    // A sentence, once a minute at most. May be empty.
    std::function<void(const std::string&)> warn;
  };
  // Before the server is built, which has a watch from then on.
  static void Install(grpc::ServerBuilder& builder, Options options);

  explicit CallWatch(Options options) : options_(std::move(options)) {}

  void Begin(const grpc::ServerContextBase* call, const std::string& peer);
  void End(const grpc::ServerContextBase* call);

 private:
  struct Connection {
    int calls = 0;
    bool dropped = false;  // its calls go one by one
  };
  using Connections = std::unordered_map<std::string, Connection>;  // by peer

  void Drop(const std::string& peer, int calls);

  const Options options_;
  Mutex mutex_;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  int living_ ABSL_GUARDED_BY(mutex_) = 0;  // calls of connections that were not dropped
  std::unordered_map<const grpc::ServerContextBase*, Connections::value_type*> calls_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point silent_until_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace hotplate::server
