#include "server/service/context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "server/net/tls.h"
#include "server/service/acts.h"
#include "server/service/client_certificate.h"

namespace hotplate::server {
namespace {

// A guest's token is good with the guest's own certificate alone.
absl::Status CheckCertificate(const Token& token, const grpc::CallbackServerContext& call) {
  const bool is_owners = token.certificate_name.empty();
  if (is_owners || ClientCertificateName(ClientInCertificate(call)) == token.certificate_name) return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("token \"", token.name, "\" was sent with another client's certificate than that of its record"));
}

// Empty of the owner's, and where there is no TLS. Not its name: a new token may have that of one that was revoked.
std::string GuestsCertificate(const grpc::CallbackServerContext& call) {
  return ClientInCertificate(call) == kOwnerToken ? "" : CertificateOf(call);
}

}  // namespace

ServiceContext::ServiceContext(Parts parts) : parts_(std::move(parts)), message_room_(parts_.inbox_bytes) {}

std::shared_ptr<const wire::JobBounds> ServiceContext::BoundsFor(const core::Principal& who) const {
  const std::shared_ptr<const core::Allowance> allowance = engine().AllowanceOf(who.token);
  // Owned by nobody: this outlives all calls.
  if (allowance == nullptr) return {std::shared_ptr<void>(), &parts_.bounds};
  auto bounds = std::make_shared<wire::JobBounds>(parts_.bounds);
  bounds->guest = who.token;
  bounds->path_roots.clear();
  if (!allowance->path_root.empty()) bounds->path_roots.push_back(allowance->path_root);
  bounds->named_roots = bounds->path_roots;
  return bounds;
}

void ServiceContext::NoteStranger(grpc::CallbackServerContext& call, std::string_view stream,
                                  const absl::Status& why) const {
  if (absl::IsUnauthenticated(why)) {
    if (const std::string certificate = GuestsCertificate(call); !certificate.empty()) failed_calls_.Note(certificate);
  }
  if (audit() == nullptr) return;
  NoteRefused(*this, call, parts_.authenticator->NameOf(call.client_metadata()), stream, why);
}

absl::Status ServiceContext::MayTry(const grpc::CallbackServerContext& call) const {
  if (!failed_calls_.any()) return absl::OkStatus();
  const std::string certificate = GuestsCertificate(call);
  return certificate.empty() ? absl::OkStatus() : failed_calls_.Check(certificate);
}

absl::StatusOr<std::shared_ptr<const Token>> ServiceContext::FindCaller(const grpc::CallbackServerContext& call) const {
  if (absl::Status wait = MayTry(call); !wait.ok()) return wait;
  absl::StatusOr<std::shared_ptr<const Token>> token = parts_.authenticator->FindToken(call.client_metadata());
  if (!token.ok()) return token;
  if (absl::Status known = CheckCertificate(**token, call); !known.ok()) return known;
  return token;
}

absl::Status ServiceContext::KnowsCaller(grpc::CallbackServerContext& call, std::string_view stream) const {
  const absl::Status known = FindCaller(call).status();
  if (!known.ok()) NoteStranger(call, stream, known);
  return known;
}

absl::Status ServiceContext::TakeRoom(const grpc::CallbackServerContext& call, std::uint64_t bytes,
                                      MessageRoom::Place& place) const {
  if (bytes <= MessageRoom::kSmall) return absl::OkStatus();
  const absl::StatusOr<std::shared_ptr<const Token>> token = FindCaller(call);
  if (!token.ok()) return token.status();
  return message_room_.Take(bytes, (*token)->serial == 0 ? "" : (*token)->name, place);
}

absl::StatusOr<core::Principal> ServiceContext::Identify(const grpc::CallbackServerContext& call,
                                                         core::Scope needed) const {
  if (absl::Status wait = MayTry(call); !wait.ok()) return wait;
  std::shared_ptr<const Token> token;
  absl::StatusOr<core::Principal> who = parts_.authenticator->Identify(call.client_metadata(), needed, &token);
  if (!who.ok()) return who;
  if (absl::Status status = CheckCertificate(*token, call); !status.ok()) return status;
  return who;
}

absl::StatusOr<core::Principal> ServiceContext::Admit(grpc::CallbackServerContext& call, core::Scope needed,
                                                      std::string_view stream) const {
  absl::StatusOr<core::Principal> who = Identify(call, needed);
  if (!who.ok()) {
    NoteStranger(call, stream, who.status());
    return who;
  }
  // Without an error: calls that leave something in the session ask again.
  engine().TouchSession(who->session, 0, core::SessionUse::kLooks).IgnoreError();
  return who;
}

void ServiceContext::SaveArray(const core::ArraySnapshot& array,
                               std::function<void(absl::StatusOr<std::string>)> done) const {
  if (durable() == nullptr) {
    return done(
        absl::FailedPreconditionError("this daemon keeps no journal, so that the next one could not have the array: it "
                                      "was started with --journal off"));
  }
  if (array.name.empty() || !array.lease_end) {
    return done(absl::FailedPreconditionError(absl::StrCat("array ", ToAbsl(array.label()), " has no ",
                                                           array.name.empty() ? "name" : "lease",
                                                           ", so that another daemon could not keep it")));
  }
  if (absl::Status status = durable()->Accepting(); !status.ok()) return done(status);
  if (durable()->arrays() != nullptr) {  // before there is one more file
    durable()->arrays()->Look();
    durable()->arrays()->RemoveGone();
  }
  const absl::StatusOr<std::string> file = parts_.save_array(array);
  if (!file.ok()) return done(file);
  durable()->SaveArray(array, *file, [done = std::move(done), file = *file](const absl::Status& written) {
    if (written.ok()) return done(file);
    done(written);
  });
}

void ServiceContext::NoteFreedArrays() const {
  if (durable() != nullptr && durable()->arrays() != nullptr) durable()->arrays()->Look();
}

absl::Status ServiceContext::AboutJob(const core::Principal& who, const absl::Status& status,
                                      const std::string& job_id) const {
  if (!absl::IsNotFound(status) || who.scope != core::Scope::kAdmin) return status;
  const std::string away = durable() != nullptr ? durable()->WhyAway(job_id) : "";
  if (!away.empty()) return absl::FailedPreconditionError(away);
  if (!parts_.whose_job) return status;
  const std::string whose = parts_.whose_job(job_id);
  return whose.empty() ? status : absl::NotFoundError(ToAbsl(whose));
}

absl::Status ServiceContext::AcceptsJobs() const {
  if (!control().draining()) return absl::OkStatus();
  return absl::UnavailableError("the daemon is draining: it finishes what runs and takes no more jobs");
}

absl::Status ServiceContext::PostForFiles(std::uint64_t bytes, std::function<void()> task) const {
  const auto activity = std::make_shared<core::Engine::Activity>(engine().BeginActivity());
  return files_.Post(bytes, [activity, task = std::move(task)] { task(); });
}

absl::Status ServiceContext::PostQuestion(const core::Principal& who, std::uint64_t bytes,
                                          std::function<void()> task) const {
  return who.scope < core::Scope::kSubmit ? files_.Post(bytes, std::move(task)) : PostForFiles(bytes, std::move(task));
}

absl::Status ServiceContext::PostForEnvironments(std::uint64_t bytes, std::function<void()> task) const {
  const auto activity = std::make_shared<core::Engine::Activity>(engine().BeginActivity());
  return environments_.Post(bytes, [activity, task = std::move(task)] { task(); });
}

absl::Status ServiceContext::CheckSize(std::uint64_t message_bytes) const {
  const std::uint64_t limit = info().limits().message_bytes();
  if (message_bytes <= limit) return absl::OkStatus();
  return Refused(absl::StatusCode::kResourceExhausted,
                 {{"message", absl::StrCat("the message has ", message_bytes,
                                           " bytes; the daemon's limit message-bytes "
                                           "is ",
                                           limit,
                                           ": send large inputs as arrays (Arrays.Create and Write, "
                                           "hotplate put) or by path, or start it with a larger --message-bytes")}});
}

absl::StatusOr<StreamTicket> StreamTicket::Take(const ServiceContext& context, const core::SessionId& session,
                                                core::SessionUse use) {
  absl::Status status = context.engine().TouchSession(session, +1, use);
  if (absl::IsResourceExhausted(status) && context.run_streams().EndIdle(context.arrays().SessionsWithArrays())) {
    status = context.engine().TouchSession(session, +1, use);
  }
  if (!status.ok()) return status;
  return StreamTicket(context, session);
}

StreamTicket::StreamTicket(const ServiceContext& context, core::SessionId session)
    : context_(&context), session_(std::move(session)) {}

StreamTicket::StreamTicket(StreamTicket&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)), session_(std::move(other.session_)) {}

StreamTicket::~StreamTicket() {
  if (context_ != nullptr) context_->engine().TouchSession(session_, -1).IgnoreError();
}

}  // namespace hotplate::server
