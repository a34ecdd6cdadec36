// Client::Impl: the connection, the stream and the threads behind a Client.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "client/lib/client.h"
#include "client/lib/connection.h"
#include "client/lib/job_run.h"
#include "client/lib/run_stream.h"
#include "client/lib/status.h"
#include "client/lib/workers.h"

namespace hotplate::client {

class Client::Impl {
 public:
  explicit Impl(std::shared_ptr<const Connection> the_connection);
  // Ends jobs begun by RunAsync and waits for the library's threads.
  ~Impl();

  // Created with the first job that uses it.
  RunStream& stream();

  static std::stop_token TokenOf(const Cancellation* cancellation);

  const std::shared_ptr<const Connection> connection;
  Closing closing;
  Workers workers;

 private:
  std::once_flag stream_once_;
  std::unique_ptr<RunStream> stream_;
};

// Makes a call once more from its beginning where the daemon was started anew meanwhile, and what the call had brought
// to it went with it. `make` returns a status or a StatusOr.
template <typename Make>
auto StartingOver(const Connection& connection, const Make& make) {
  while (true) {
    const std::size_t moves = connection.moves();
    auto done = make();
    if (done.ok() || !WentWithTheDaemon(StatusOf(done))) return done;
    if (connection.moves() == moves) return moves == 0 ? std::move(done) : decltype(done)(MovedOn(StatusOf(done)));
  }
}

enum class WatchStep { kNothingNew, kProgress, kDone };

// Reads a server's stream until `on_message` returns kDone. If the stream breaks, `open` opens it again at the right
// place, for as long as ConnectOptions::reconnect allows. The daemon must answer a reopened stream at once, news or
// not, to show that the loss is over; only attempts without an answer count. OK only after kDone.
template <typename Response>
absl::Status WatchStream(
    const Connection& connection,
    const std::function<std::unique_ptr<grpc::ClientReader<Response>>(const Target&, grpc::ClientContext&, bool again)>&
        open,
    const std::function<WatchStep(Response&)>& on_message, const std::stop_token& stop) {
  Reconnecting reconnecting(connection, stop);
  for (bool again = false;; again = true) {
    grpc::ClientContext context;
    Target& target = connection.now();
    connection.Authorize(target, context);
    const CancelOnStop cancel(stop, context);
    const std::unique_ptr<grpc::ClientReader<Response>> reader = open(target, context, again);
    Response response;
    bool done = false;
    while (!done && reader->Read(&response)) {
      reconnecting.Answered();
      const WatchStep step = on_message(response);
      done = step == WatchStep::kDone;
      if (step != WatchStep::kNothingNew) reconnecting.Progressed();
    }
    if (done) context.TryCancel();
    const grpc::Status finished = reader->Finish();
    if (done) return absl::OkStatus();
    const absl::Status status = finished.ok() ? MarkedLost(absl::UnavailableError("the daemon closed the stream"))
                                              : connection.Translate(target, finished);
    if (!IsConnectionLoss(status)) return status;
    if (reconnecting.Again(status, connection.MayComeBack(target, finished))) continue;
    return stop.stop_requested() ? absl::CancelledError("the watch was cancelled") : status;
  }
}

}  // namespace hotplate::client
