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

enum class WatchStep { kNothingNew, kProgress, kDone };

// Reads a server's stream until `on_message` says kDone; a broken one is opened again by `open`, which knows where to
// go on, for as long as ConnectOptions::reconnect allows. It then has the daemon say something at once, news or not, so
// that it is known that the loss is over: however many there are, only attempts without an answer count against it. OK
// only after kDone.
template <typename Response>
absl::Status WatchStream(
    const Connection& connection,
    const std::function<std::unique_ptr<grpc::ClientReader<Response>>(grpc::ClientContext&, bool again)>& open,
    const std::function<WatchStep(Response&)>& on_message, const std::stop_token& stop) {
  Backoff backoff;
  Outage outage(connection);
  const auto tell = [&](const absl::Status& news) {
    if (connection.options().on_connection) connection.options().on_connection(news);
  };
  bool again = false;
  for (int failures = 0;; again = true) {
    grpc::ClientContext context;
    connection.Authorize(context);
    const CancelOnStop cancel(stop, context);
    const std::unique_ptr<grpc::ClientReader<Response>> reader = open(context, again);
    Response response;
    bool done = false, answered = false;
    while (!done && reader->Read(&response)) {
      answered = true;
      if (outage.Over()) tell(absl::OkStatus());
      const WatchStep step = on_message(response);
      done = step == WatchStep::kDone;
      if (step != WatchStep::kNothingNew) backoff.Reset();
    }
    if (done) context.TryCancel();
    const grpc::Status finished = reader->Finish();
    if (done) return absl::OkStatus();
    const absl::Status status = finished.ok() ? MarkedLost(absl::UnavailableError("the daemon closed the stream"))
                                              : connection.Translate(finished);
    if (!IsConnectionLoss(status)) return status;
    const bool lasts = outage.Lasts(connection.MayComeBack(finished));
    failures = answered ? 1 : failures + 1;
    if (!answered && failures > connection.options().retries) {
      if (!lasts) return status;
      if (outage.ToTell()) tell(status);
    }
    if (!connection.Pause(backoff.Next(), stop)) return absl::CancelledError("the watch was cancelled");
  }
}

}  // namespace hotplate::client
