// What a Client is a handle to.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "client/lib/client.h"
#include "client/lib/connection.h"
#include "client/lib/run_stream.h"
#include "client/lib/status.h"
#include "client/lib/workers.h"

namespace hotplate::client {

class Client::Impl {
 public:
  explicit Impl(std::shared_ptr<const Connection> the_connection);
  // Ends what RunAsync has begun; waits for the library's threads.
  ~Impl();

  // Made with the first job that goes over it.
  RunStream& stream();

  static std::stop_token TokenOf(const Cancellation* cancellation);

  const std::shared_ptr<const Connection> connection;
  // Of the client as a whole: asked to stop when its last handle goes.
  std::stop_source closing;
  Workers workers;

 private:
  std::once_flag stream_once_;
  std::unique_ptr<RunStream> stream_;
};

enum class WatchStep { kProgress, kDone };

// Reads a server's stream until `on_message` says kDone; a broken one is opened again by `open`, which knows where to
// go on. OK only after kDone.
template <typename Response>
absl::Status WatchStream(const Connection& connection,
                         const std::function<std::unique_ptr<grpc::ClientReader<Response>>(grpc::ClientContext&)>& open,
                         const std::function<WatchStep(Response&)>& on_message, const std::stop_token& stop) {
  Backoff backoff;
  for (int failures = 0;;) {
    grpc::ClientContext context;
    connection.Authorize(context);
    const CancelOnStop cancel(stop, context);
    const std::unique_ptr<grpc::ClientReader<Response>> reader = open(context);
    Response response;
    bool done = false;
    while (!done && reader->Read(&response)) {
      failures = 0;
      backoff.Reset();
      done = on_message(response) == WatchStep::kDone;
    }
    if (done) context.TryCancel();
    absl::Status status = connection.Translate(reader->Finish());
    if (done) return absl::OkStatus();
    if (status.ok()) status = absl::UnavailableError("the daemon closed the stream");
    if (!IsConnectionLoss(status) || ++failures > connection.options().retries) return status;
    if (!SleepFor(backoff.Next(), stop)) return absl::CancelledError("the watch was cancelled");
  }
}

}  // namespace hotplate::client
