#include "client/lib/connection.h"

#include <algorithm>
#include <random>

#include "client/lib/channel.h"
#include "client/lib/follow_on.h"
#include "client/lib/status.h"
#include "kernels/base/mutex.h"

namespace hotplate::client {
namespace {

// The library is built with the project; the version is the tree's.
constexpr char kClient[] = "hotplate/" HOTPLATE_VERSION;

constexpr char kAnotherDaemon[] =
    "connect again, if the record is newer than this connection; else choose another daemon (hotplate use lists them), "
    "or remove that record and start one: hotplate up (on this machine: hotplate up --local)";

constexpr char kEnding[] = "it is about to end";

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// The words by which gRPC 1.51 tells that a connection could not be made.
bool CouldNotConnect(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         Contains(status.error_message(), "failed to connect to all addresses");
}

// gRPC 1.51 reports unreadable certificates or keys as an address without any route.
bool HasNoCertificates(const std::string& message) { return message.rfind("empty address list", 0) == 0; }

// The peer was there, and left without a word.
bool HungUp(const std::string& message) {
  return Contains(message, "Socket closed") || Contains(message, "Connection reset by peer") ||
         Contains(message, "Broken pipe");
}

// The peer spoke, and was not the one that the certificate names.
bool IsAnotherPeer(const std::string& message) {
  return Contains(message, "certificate verify failed") || Contains(message, "CERTIFICATE_VERIFY_FAILED") ||
         Contains(message, "wrong version number") || Contains(message, "not in peer certificate");
}

// As of a daemon that is gone, whose port another one may have by now.
bool MayBeOfAnother(const grpc::Status& status) {
  return (status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty()) ||
         status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
}

// "…: Connection refused" -> "Connection refused": the rest of gRPC's sentence is for its authors.
std::string LastClause(const std::string& message) {
  const std::size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

}  // namespace

std::chrono::system_clock::time_point OnSystemClock(Clock::time_point time) {
  const auto left = std::min<Clock::duration>(time - Clock::now(), std::chrono::hours(24 * 365));
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
}

nanoseconds Backoff::Next() {
  constexpr std::chrono::milliseconds kFirst(50), kLongest(1000);
  const auto base = std::min(kFirst * (1 << std::min(attempt_++, 10)), kLongest);
  thread_local std::minstd_rand random(std::random_device{}());
  return std::chrono::duration_cast<nanoseconds>(base * std::uniform_real_distribution<>(0.75, 1.25)(random));
}

bool SleepFor(nanoseconds duration, const std::stop_token& stop) {
  const Clock::time_point until = Clock::now() + duration;
  Mutex mutex;
  CondVar stopped;
  const std::stop_callback wake(stop, [&] {
    const MutexLock lock(mutex);
    stopped.NotifyAll();
  });
  const MutexLock lock(mutex);
  while (!stop.stop_requested() && stopped.WaitUntil(mutex, until)) {
  }
  return !stop.stop_requested();
}

Target::Target(FoundRecord the_record, std::shared_ptr<grpc::Channel> the_channel)
    : found(std::move(the_record)),
      channel(std::move(the_channel)),
      authorization("Bearer " + found.record.token()),
      catalogue(v1::Catalogue::NewStub(channel)),
      arrays(v1::Arrays::NewStub(channel)),
      jobs(v1::Jobs::NewStub(channel)),
      programs(v1::Programs::NewStub(channel)),
      telemetry(v1::Telemetry::NewStub(channel)),
      server(v1::Server::NewStub(channel)),
      tokens(v1::Tokens::NewStub(channel)),
      generic(std::make_unique<grpc::GenericStub>(channel)) {}

Connection::Connection(FoundRecord found, ConnectOptions options, std::shared_ptr<grpc::Channel> channel)
    : options_(std::move(options)) {
  targets_.push_back(std::make_unique<Target>(std::move(found), std::move(channel)));
  now_ = targets_.back().get();
}

bool Connection::MoveOn() const {
  const MutexLock lock(moving_);
  const FoundRecord& before = now().found;
  absl::StatusOr<FoundRecord> found = ReadRecord(before.path);
  if (!found.ok() || found->record.generation() == before.record.generation()) return false;
  const bool certain = !found->record.certificate_pem().empty();
  if (before.endpoint_given) {
    // The near end of a forward stays where it is, and only a certificate tells who is at the far end.
    if (!certain) return false;
    *found->record.mutable_endpoints() = before.record.endpoints();
    found->endpoint_given = true;
  }
  if (!certain && KnownDead(found->record)) return false;
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(found->record, options_);
  if (!channel.ok()) return false;
  targets_.push_back(std::make_unique<Target>(*std::move(found), *std::move(channel)));
  now_ = targets_.back().get();
  ++moves_;
  return true;
}

void Connection::Authorize(const Target& target, grpc::ClientContext& context) const {
  context.AddMetadata("authorization", target.authorization);
  context.AddMetadata("hotplate-session", options_.session);
  context.AddMetadata("hotplate-client", kClient);
}

bool Connection::IsShutOut(Target& target, const grpc::Status& status) {
  if (CouldNotConnect(status)) {
    return !target.connected && !target.found.record.certificate_pem().empty() && HungUp(status.error_message());
  }
  // These two codes may come from this side.
  const bool tells_nothing =
      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED || status.error_code() == grpc::StatusCode::CANCELLED;
  if (!tells_nothing && !target.connected) target.connected = true;
  return false;
}

absl::Status Connection::Translate(Target& target, const grpc::Status& status) const {
  const FoundRecord& found = target.found;
  if (MayBeOfAnother(status) && (&target != &now() || MoveOn()))
    return MarkedLost(
        absl::UnavailableError("daemon \"" + found.record.name() + "\" was started anew; make the call again"));
  if (IsShutOut(target, status)) {
    // A port forward whose far end is down also hangs up. That is the likeliest cause here, and the message adds it.
    if (found.endpoint_given) return MarkedLost(NobodyAnswers(found, "it hung up at once"));
    return MarkedLost(NobodyAnswers(
        found, "it hung up at once, as it does on a client certificate that is not its own (the record " + found.path +
                   " was changed, or is of another start), or when it is about to end; choose another daemon "
                   "(hotplate use lists them), or remove that record if this one is gone"));
  }
  if (CouldNotConnect(status)) {
    if (!IsAnotherPeer(status.error_message()))
      return MarkedLost(NobodyAnswers(found, LastClause(status.error_message())));
    return absl::UnauthenticatedError("the program that answers for daemon \"" + found.record.name() +
                                      "\" does not have the certificate of its record " + found.path +
                                      ": nothing was sent to it. The record belongs to another start of the daemon, or "
                                      "another program listens there; " +
                                      kAnotherDaemon);
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && HasNoCertificates(status.error_message())) {
    return DamagedRecord(found.path,
                         "its certificate_pem, client_certificate_pem or client_key_pem cannot be read, or the last "
                         "two do not belong together");
  }
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
    // A guest's token that ended: the daemon says how.
    if (!found.record.guest().empty() && status.error_message().rfind("token \"", 0) == 0)
      return absl::UnauthenticatedError(status.error_message());
    return absl::UnauthenticatedError(
        "daemon \"" + found.record.name() + "\" does not accept the token of its record " + found.path +
        ": the record belongs to another start of the daemon, or was changed; " + kAnotherDaemon);
  }
  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
      status.error_message().rfind("Received message larger than max", 0) == 0) {
    // So large that the daemon's gRPC did not even read it to say so by name.
    return Exhausted("message", status.error_message() +
                                    ": the message exceeds the daemon's limit message-bytes; send large inputs as "
                                    "arrays (hotplate put) or by path, or start it with a larger --message-bytes");
  }
  // The daemon's own UNAVAILABLE has details that say how long to wait; gRPC's has none.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty())
    return MarkedLost(NobodyAnswers(
        found, Contains(status.error_message(), "GOAWAY") ? kEnding : LastClause(status.error_message())));
  return FromGrpc(status);
}

bool Connection::Pause(nanoseconds duration, const std::stop_token& stop, const OnWait& on_wait) const {
  const Clock::time_point end = Clock::now() + duration;
  while (!stop.stop_requested() && Clock::now() < end) {
    const Clock::time_point look = std::min<Clock::time_point>(end, Clock::now() + kLook);
    const grpc_connectivity_state state = now().channel->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) {
      SleepFor(look - Clock::now(), stop);
    } else {
      now().channel->WaitForStateChange(state, OnSystemClock(look));
    }
    if (on_wait) on_wait();
  }
  return !stop.stop_requested();
}

bool Connection::MayComeBack(Target& target, const grpc::Status& status) const {
  if (&target != &now()) return true;
  const std::string& message = status.error_message();
  const bool shut_out = IsShutOut(target, status);
  if (!CouldNotConnect(status) || IsAnotherPeer(message)) return false;
  // The host answers, but nobody listens. At the near end of a port forward that proves nothing about the daemon.
  const bool nobody =
      shut_out || Contains(message, "Connection refused") || Contains(message, "No such file or directory");
  const FoundRecord& found = target.found;
  const bool gone = (nobody && !found.endpoint_given) || KnownDead(found.record) || IsWithdrawn(found);
  return !gone || IsFollowed(found);
}

bool Outage::Lasts(bool may_come_back) {
  if (!until_) until_ = Clock::now() + connection_.options().reconnect;
  return Clock::now() < *until_ && may_come_back;
}

bool Outage::Over() {
  until_.reset();
  return std::exchange(told_, false);
}

void Reconnecting::Tell(const absl::Status& news) const {
  if (connection_.options().on_connection) connection_.options().on_connection(news);
}

void Reconnecting::Reached() {
  if (!outage_.Over()) return;
  failures_ = 0;
  Tell(absl::OkStatus());
}

void Reconnecting::Answered() {
  Reached();
  answered_ = true;
}

void Reconnecting::Progressed() {
  Answered();
  backoff_.Reset();
}

bool Reconnecting::Again(const absl::Status& status, bool may_come_back) {
  if (std::exchange(moves_, connection_.moves()) != connection_.moves()) {
    failures_ = 0;  // with this start of the daemon
    backoff_.Reset();
  }
  const bool lasts = outage_.Lasts(may_come_back);
  const bool answered = std::exchange(answered_, false);
  failures_ = answered ? 1 : failures_ + 1;
  if (!answered && failures_ > connection_.options().retries) {
    if (!lasts) return false;
    if (outage_.ToTell()) Tell(status);
  }
  return connection_.Pause(backoff_.Next(), stop_, on_wait_);
}

void Connection::SetUp(const Target& target, grpc::ClientContext& context, const CallRules& rules) const {
  Authorize(target, context);
  Deadline deadline = rules.until;
  if (!rules.no_deadline) {
    const Clock::time_point own = Clock::now() + rules.deadline.value_or(options_.deadline);
    deadline = deadline ? std::min(*deadline, own) : own;
  }
  if (deadline) context.set_deadline(OnSystemClock(*deadline));
}

grpc::Status Connection::Dropped() { return {grpc::StatusCode::UNAVAILABLE, kEnding}; }

grpc::Status Connection::TooLarge() {
  return {grpc::StatusCode::INVALID_ARGUMENT, "the request has more than 2 GiB, the maximum of a message"};
}

grpc::Status Connection::Unreadable() {
  return {grpc::StatusCode::INTERNAL,
          "the daemon's answer is not a message of the protocol; use a client of the daemon's version"};
}

bool Connection::Await(grpc::CompletionQueue& queue) const {
  const Clock::time_point begin = Clock::now();
  const bool alone = waiting_.fetch_add(1, std::memory_order_relaxed) == 0;
  void* tag = nullptr;
  bool ok = false;
  NextEvent(queue, tag, ok, alone ? waits_.AwakeUntil(begin) : std::nullopt,
            std::chrono::system_clock::time_point::max());
  waits_.Ended(begin);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return ok;
}

bool Connection::MayRepeat(const absl::Status& status, const CallRules& rules, Repeats& repeats) const {
  if (rules.repeat == Repeat::kNever || !IsConnectionLoss(status)) return false;
  const bool moved = std::exchange(repeats.moves, moves()) != moves();
  if (moved) {
    repeats.attempts = 0;  // with this start of the daemon
    repeats.backoff.Reset();
  }
  if (rules.repeat == Repeat::kAnew && !moved) return false;
  nanoseconds wait = repeats.backoff.Next();
  // The daemon's own hint counts, up to a bound, since a caller waits.
  if (const auto hint = RetryAfter(status)) wait = std::clamp<nanoseconds>(*hint, wait, std::chrono::seconds(5));
  if (rules.until && Clock::now() + wait >= *rules.until) return false;
  if (++repeats.attempts > options_.retries) {
    // Between two daemons there is none.
    if (!ConnectionLost(status) || waited_in_vain_ == moves() + 1 || !IsFollowed(found())) return false;
    if (!repeats.until) repeats.until = Clock::now() + options_.reconnect;
    if (Clock::now() >= *repeats.until) {
      waited_in_vain_ = moves() + 1;  // the calls after this one do not wait as well
      return false;
    }
    if (options_.on_connection && !std::exchange(repeats.told, true)) options_.on_connection(status);
  }
  return SleepFor(wait, rules.stop);
}

}  // namespace hotplate::client
