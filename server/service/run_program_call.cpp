#include "server/service/run_program_call.h"

#include <utility>

#include "server/service/acts.h"
#include "server/service/parsed_service.h"
#include "server/service/programs.h"
#include "server/service/refusal.h"
#include "server/wire/program.h"
#include "server/wire/status.h"
#include "server/wire/values.h"

namespace hotplate::server {

RunProgramCall::Reactor* RunProgramCall::Start(const ServiceContext& context, grpc::CallbackServerContext* call) {
  absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kCode, "Programs.Run");
  if (!who.ok()) return new Refusal<Reactor>(who.status());
  absl::StatusOr<StreamTicket> ticket = StreamTicket::Take(context, who->session, core::SessionUse::kHolds);
  if (!ticket.ok()) return new Refusal<Reactor>(ticket.status());
  const auto call_of_it =
      std::make_shared<RunProgramCall>(context, *std::move(who), PeerFor(context, *call), *std::move(ticket));
  call_of_it->self_ = call_of_it;
  context.engine().Subscribe(call_of_it);
  call_of_it->Read();
  return call_of_it.get();
}

RunProgramCall::RunProgramCall(const ServiceContext& context, core::Principal who, std::string peer,
                               StreamTicket ticket)
    : context_(context), who_(std::move(who)), peer_(std::move(peer)), ticket_(std::move(ticket)) {}

void RunProgramCall::Read() { StartRead(&bytes_); }

void RunProgramCall::OnReadDone(bool ok) noexcept {
  bool begun = false;
  {
    MutexLock lock(mutex_);
    begun = begun_;
    begun_ = true;
    if (finished_) return;
  }
  if (!ok) {
    if (!begun) return Refuse(absl::InvalidArgumentError("the stream ended before it named a program"));
    return streams_->CloseInput();
  }
  v1::RunProgramRequest request;
  if (absl::Status status = Parse(bytes_, request); !status.ok()) return Refuse(status);
  bytes_.Clear();
  if (!begun) {
    if (!request.has_program()) {
      return Refuse(absl::InvalidArgumentError("the first message of the stream must have a program"));
    }
    return Begin(request.program());
  }
  if (!Obey(request)) return;
  {
    MutexLock lock(mutex_);
    read_later_ = !streams_->HasRoomForInput();
    if (read_later_) return;
  }
  Read();
}

bool RunProgramCall::Obey(v1::RunProgramRequest& request) {
  switch (request.kind_case()) {
    case v1::RunProgramRequest::kInput:
      streams_->AddInput(std::move(*request.mutable_input()));
      return true;
    case v1::RunProgramRequest::kInputEnds:
      streams_->CloseInput();
      return true;
    case v1::RunProgramRequest::kTerminal:
      if (const auto size = wire::FromProto(request.terminal()); size.ok()) {
        streams_->Resize(*size);
        return true;
      } else {
        Refuse(size.status());
        return false;
      }
    case v1::RunProgramRequest::kProgram:
      Refuse(absl::InvalidArgumentError("the stream has its program already; open another stream for another one"));
      return false;
    case v1::RunProgramRequest::KIND_NOT_SET:
      return true;  // of a newer client
  }
  return true;
}

void RunProgramCall::Begin(const v1::Program& program) {
  {
    MutexLock lock(mutex_);
    name_ = NameOfProgram(program);
  }
  absl::Status status = context_.AcceptsJobs();
  if (status.ok()) {
    status =
        context_.PostForFiles(program.ByteSizeLong(), [self = shared_from_this(), this, program] { Submit(program); });
  }
  if (!status.ok()) Refuse(status);
}

void RunProgramCall::Submit(const v1::Program& program) {
  absl::StatusOr<core::JobRequest> job = ProgramAsJob(context_, program, streams_);
  if (!job.ok()) return Refuse(job.status());
  if (job->sweep != nullptr) {
    return Refuse(
        InvalidField("sweep", absl::StrCat("a program whose standard streams are the client's has one task: submit ",
                                           program.kind(), " with its sweep")));
  }
  if (!job->request_id.empty()) {
    return Refuse(InvalidField("request_id",
                               "a program with a client cannot have a request_id: nobody else can have its "
                               "streams; submit it"));
  }
  job->attached = true;
  job->on_disconnect = core::DisconnectPolicy::kCancel;
  streams_->Listen(this, [this] { StreamsChanged(); });
  {
    MutexLock lock(mutex_);
    if (broken_ || finished_) return;
    kernel_ = job->kernel;
  }
  // Before the job, whose end could end the call: while a read is open, the call lives.
  Read();
  const absl::StatusOr<core::JobId> id = context_.engine().Submit(who_, *std::move(job), shared_from_this(), 0);
  if (!id.ok()) return Refuse(id.status());
  bool broken = false;
  std::string name;
  {
    MutexLock lock(mutex_);
    id_ = *id;
    broken = broken_ || refusal_;
    name = name_;
  }
  NoteAct(context_, "run", who_, peer_, id->value(), name, absl::OkStatus());
  // A stream that broke meanwhile was forgotten without this job.
  if (broken) return context_.engine().Unsubscribe(shared_from_this(), core::Engine::OnDisconnect::kCancelNow);
  Advance();
}

void RunProgramCall::OnChange(const core::JobId& id, std::uint64_t, const core::StateChange& event,
                              const std::shared_ptr<const core::JobEnd>& end) {
  {
    MutexLock lock(mutex_);
    id_ = id;
    if (end) {
      end_ = end;
    } else {
      changes_.push_back(event);
    }
  }
  Advance();
}

void RunProgramCall::OnNotice(const std::string& text, std::optional<double> seconds_left) {
  {
    MutexLock lock(mutex_);
    v1::Notice& notice = notices_.emplace_back();
    notice.set_text(text);
    if (seconds_left) notice.set_seconds_left(*seconds_left);
  }
  Advance();
}

bool RunProgramCall::HasUnsent() {
  MutexLock lock(mutex_);
  return !finished_ && !broken_ && (writing_ || (end_ != nullptr && !end_sent_));
}

void RunProgramCall::StreamsChanged() {
  bool read = false;
  {
    MutexLock lock(mutex_);
    read = read_later_ && !finished_ && streams_->HasRoomForInput();
    if (read) read_later_ = false;
  }
  if (read) Read();
  Advance();
}

void RunProgramCall::Advance() {
  {
    MutexLock lock(mutex_);
    if (writing_ || finished_ || broken_ || end_sent_ || refusal_ || id_.empty()) return;
    response_.Clear();
    if (!told_id_) {
      response_.set_job_id(id_.value());
      response_.set_generation(context_.generation());
    }
    for (const OutputPiece& piece : streams_->TakeOutput(this)) wire::ToProto(piece, *response_.add_pieces());
    if (!changes_.empty()) {
      wire::ToProto(changes_.front(), *response_.mutable_state_change());
      changes_.pop_front();
    }
    if (!notices_.empty()) {
      *response_.mutable_notice() = std::move(notices_.front());
      notices_.pop_front();
    }
    if (end_ && changes_.empty() && notices_.empty()) {
      wire::ToProto(*end_, id_, kernel_, context_.facts(), *response_.mutable_end());
      end_sent_ = true;
    }
    if (told_id_ && response_.ByteSizeLong() == 0) return;
    told_id_ = true;
    writing_ = true;
  }
  StartWrite(&response_);
}

void RunProgramCall::OnWriteDone(bool ok) noexcept {
  bool finish = false, broken = false;
  absl::Status status;
  {
    MutexLock lock(mutex_);
    writing_ = false;
    broken = broken_ || !ok;
    if (refusal_) status = *refusal_;
    finish = !broken && (end_sent_ || refusal_) && !std::exchange(finished_, true);
  }
  if (broken) return Break();
  if (finish) return Finish(wire::ToGrpc(status));
  context_.engine().NoteUse();
  Advance();
}

void RunProgramCall::Refuse(const absl::Status& status) {
  bool later = false;
  std::string name;  // empty: no program came, or it is a job by now
  {
    MutexLock lock(mutex_);
    if (finished_ || broken_) return;
    refusal_ = status;
    later = writing_;  // it is told when that is done
    finished_ = !later;
    if (id_.empty()) name = name_;
  }
  if (!name.empty()) NoteAct(context_, "run", who_, peer_, "", name, status);
  if (!later) Finish(wire::ToGrpc(status));
}

void RunProgramCall::OnCancel() noexcept { Break(); }

void RunProgramCall::Break() {
  bool finish = false;
  {
    MutexLock lock(mutex_);
    broken_ = true;
    finish = !writing_ && !std::exchange(finished_, true);
  }
  streams_->Leave(this);
  context_.engine().Unsubscribe(shared_from_this(), core::Engine::OnDisconnect::kCancelNow);
  if (finish) Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
}

void RunProgramCall::OnDone() noexcept {
  const std::shared_ptr<RunProgramCall> last = std::move(self_);
  streams_->Leave(this);
  context_.engine().Unsubscribe(last, core::Engine::OnDisconnect::kCancelNow);
  ticket_.reset();
}

}  // namespace hotplate::server
