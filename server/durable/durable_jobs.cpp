#include "server/durable/durable_jobs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/durable/job_messages.h"
#include "server/wire/job.h"
#include "server/wire/job_ref.h"
#include "server/wire/program.h"

namespace hotplate::server {
namespace {

std::string NotInJournal(const std::string& what, const core::JobId& job) {
  return absl::StrCat(what, " of job ", job.value(),
                      " is not in the journal; should this daemon die before it is, the "
                      "next one would run the job again");
}

using core::LogLevel;

bool AllForJobs(const core::JobEnd& end) {
  return !end.outputs.empty() &&
         std::all_of(end.outputs.begin(), end.outputs.end(), [](const auto& output) { return output.for_jobs; });
}

std::uint64_t BytesIn(const std::vector<journal::SpooledFile>& files) {
  std::uint64_t bytes = 0;
  for (const journal::SpooledFile& file : files) bytes += file.bytes;
  return bytes;
}

// The arrays that the job takes, by the names of its inputs.
std::map<std::string, std::string> ArrayInputs(const v1::JobSpec& spec) {
  std::map<std::string, std::string> arrays;
  for (const v1::JobInput& input : spec.inputs()) {
    if (input.source_case() == v1::JobInput::kArrayId) arrays.emplace(input.name(), input.array_id());
  }
  return arrays;
}

}  // namespace

DurableJobs::~DurableJobs() { Stop(); }

absl::Status DurableJobs::NotTaken(const absl::Status& why) const {
  // Trying again does not help against most reasons: somebody has to do something first.
  const absl::StatusCode code = absl::IsResourceExhausted(why) ? why.code() : absl::StatusCode::kFailedPrecondition;
  return absl::Status(code,
                      absl::StrCat("detached jobs are not taken now, since they could not be written to the journal "
                                   "in ",
                                   options_.journal.folder, ": ", why.message(), "; attached ones are (hotplate run)"));
}

absl::Status DurableJobs::Accepting() const {
  const absl::Status status = journal_ == nullptr ? unable_ : journal_->Accepting();
  return status.ok() ? status : NotTaken(status);
}

bool DurableJobs::MustWait(const core::Principal& who, const v1::JobSpec& spec) const {
  if (wire::NeedsFiles(spec) || wire::DependsOnOthers(spec) || !ArrayInputs(spec).empty()) return true;
  const std::shared_ptr<const core::Allowance> allowance = engine_->AllowanceOf(who.token);
  return allowance != nullptr && allowance->array_bytes > 0;  // older results may have to go
}

absl::StatusOr<journal::Spool::Stored> DurableJobs::StoreInputs(const core::Job& job, std::uint64_t request,
                                                                const std::map<std::string, std::string>& arrays) {
  std::vector<journal::SpoolItem> items;
  std::vector<std::shared_ptr<const HostBuffer>> buffers;
  for (const auto& [name, array] : arrays) {
    absl::StatusOr<core::ArrayStore::Reader> reader = engine_->arrays().Open(job.owner, array);
    if (!reader.ok()) return reader.status();
    if (absl::Status status = engine_->arrays().Fetch(reader->buffer); !status.ok()) return status;
    items.push_back({.name = name,
                     .signature = reader->array.signature,
                     .bytes = reader->buffer->bytes(),
                     .shared = true,
                     .file = arrays_->FileOf(reader->array.id)});
    buffers.push_back(std::move(reader->buffer));
  }
  absl::Status admitted;
  absl::StatusOr<journal::Spool::Stored> stored = spool_->StoreInputs(
      job.sequence, items, {},
      [&](std::span<const journal::SpooledFile> files) { return admitted = TakeRoom(job, request, files); });
  if (!admitted.ok()) return admitted;
  if (!stored.ok()) {
    const char* const durable = absl::IsResourceExhausted(stored.status())
                                    ? "keep them in files of their own, which jobs share (hotplate put --durable, in "
                                      "Python make_durable()), or "
                                    : "";
    return absl::Status(stored.status().code(),
                        absl::StrCat("the arrays that the job takes cannot be kept for it in ", spool_->root(), ": ",
                                     stored.status().message(), "; ", durable, "run it attached (hotplate run)"));
  }
  return stored;
}

absl::Status DurableJobs::CheckNotAway(const core::Principal& who, const std::string& request_id) const {
  const std::string key = core::JobTable::RequestKey(who.token, request_id);
  MutexLock lock(mutex_);
  for (const auto& [number, away] : away_) {
    if (key.empty() || away.request_key != key) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("request_id \"", request_id, "\" belongs to job ", number, ": ", away.why));
  }
  return absl::OkStatus();
}

void DurableJobs::Accept(const core::Principal& who, core::JobRequest request, const v1::JobSpec& spec, Done done) {
  Accept(who, std::move(request), wire::CanonicalBytes(spec), ArrayInputs(spec), std::move(done));
}

void DurableJobs::Accept(const core::Principal& who, core::JobRequest request, const v1::Program& program, Done done) {
  Accept(who, std::move(request), wire::CanonicalBytes(program), {}, std::move(done));
}

void DurableJobs::Accept(const core::Principal& who, core::JobRequest request, std::string bytes,
                         const std::map<std::string, std::string>& arrays, Done done) {
  if (absl::Status status = Accepting(); !status.ok()) return done(status);
  if (absl::Status status = wire::CheckById(request); !status.ok()) return done(status);
  const std::string kernel = request.kernel;
  if (absl::Status status = RecallOthers(who, request); !status.ok()) return done(status);
  if (absl::Status status = CheckInputsOutlive(who, request); !status.ok()) return done(status);
  const std::set<std::uint64_t> needs = NeedsOf(request);
  absl::StatusOr<core::Engine::Accepted> accepted = engine_->Accept(who, std::move(request));
  if (!accepted.ok()) return done(accepted.status());
  if (accepted->job == nullptr) return done(accepted->id);
  const std::shared_ptr<core::Job>& job = accepted->job;
  needed_.Add(job->sequence, needs);

  const auto withdraw = [this](core::Job& refused) {
    needed_.Ended(refused.sequence);
    guests_disk_.Release(refused.sequence);
    engine_->Withdraw(refused);
  };

  auto stored = std::make_shared<std::optional<journal::Spool::Stored>>();
  journal::JobAccepted record = AcceptedRecord(*job, kernel, std::move(bytes));
  if (arrays.empty()) {
    if (absl::Status room = TakeRoom(*job, record.request.size(), {}); !room.ok()) {
      withdraw(*job);
      return done(room);
    }
  } else {
    absl::StatusOr<journal::Spool::Stored> inputs = StoreInputs(*job, record.request.size(), arrays);
    if (!inputs.ok()) {
      withdraw(*job);
      return done(inputs.status());
    }
    record.inputs = inputs->files();
    stored->emplace(*std::move(inputs));
  }
  journal_->Append(std::move(record), journal::Durability::kSynced,
                   [this, job, stored, withdraw, done = std::move(done)](const absl::Status& written) {
                     if (!written.ok()) {
                       withdraw(*job);
                       return done(NotTaken(written));
                     }
                     if (*stored) (*stored)->Keep();
                     const core::JobId id = job->id;
                     engine_->Acknowledge(*job);
                     done(id);
                   });
}

void DurableJobs::Cancel(const core::Principal& who, const core::JobId& id, Cancelled done) {
  const std::uint64_t number = core::JobTable::NumberOf(id.value());
  bool away = false;
  {
    MutexLock lock(mutex_);
    const auto at = away_.find(number);
    away = at != away_.end() && (who.scope == core::Scope::kAdmin || at->second.owner == who.token);
  }
  if (away) {
    const auto cancel = [=, this] {
      if (const absl::Status ended = CancelAway(number); !ended.ok()) return done(ended);
      Cancel(who, id, done);
    };
    if (const absl::Status full = ends_->Post(1, cancel); !full.ok()) done(full);
    return;
  }
  absl::StatusOr<core::JobSnapshot> job = engine_->Cancel(who, id);
  if (journal_ == nullptr || !job.ok() || !job->durable || core::IsEnd(job->state)) return done(std::move(job));
  journal::JobCancelRequested record{number, journal::WallTime::clock::now()};
  WriteAndTell(std::move(record), {NotInJournal("the cancel", id), [done = std::move(done), job = *std::move(job)](
                                                                       const absl::Status&) { done(job); }});
}

void DurableJobs::Append(const core::Job& job, const core::JobEvent& event) {
  if (journal_ == nullptr) return;
  if (!job.durable) {
    if (job.record().end != nullptr && event.kind == core::EndingIn(job.record().state)) NoteEnd(job);
    return;
  }
  const bool started = event.kind == core::JobEvent::Kind::kStarted;
  if (started && job.sweep != nullptr && tasks_ != nullptr) tasks_->Started(job.sequence);
  if (started && !job.waits_for_start) {
    journal_->Append(journal::JobStarted{job.sequence, job.change_count(), event.time, event.device},
                     journal::Durability::kBehind);
  } else if (event.kind == core::JobEvent::Kind::kFetched) {
    NoteFetched(job.sequence, event.time);
  }
}

void DurableJobs::NoteFetched(std::uint64_t number, journal::WallTime time) {
  if (!needed_.MayGo(number)) return;
  guests_disk_.Fetched(number);
  journal_->Append(journal::JobFetched{number, time}, journal::Durability::kBehind);
}

void DurableJobs::NoteEnd(const core::Job& job) {
  const core::JobRecord& record = job.record();
  const core::StateChange& last = job.change(job.change_count() - 1);
  journal::AttachedJob ended{.number = job.sequence,
                             .owner = job.owner.token,
                             .session = job.owner.session.value(),
                             .kernel = job.spec().name(),
                             .label = job.label,
                             .device = last.device,
                             .state = static_cast<journal::JobState>(record.state),
                             .accepted = job.change(0).time,
                             .ended = last.time,
                             .use = UseOf(*record.end, facts_)};
  if (job.change_count() > 2) ended.started = job.change(1).time;
  journal_->Note(std::move(ended), [&] { return EndWithoutData(job, *record.end, facts_); });
}

void DurableJobs::WriteStart(const core::Job& job, const core::JobEvent& start, std::uint64_t sequence) {
  if (journal_ == nullptr) return;
  absl::Status written = journal_->Accepting();
  if (written.ok()) written = journal_->Write(journal::JobStarted{job.sequence, sequence, start.time, start.device});
  if (!written.ok()) {
    Say(LogLevel::kError, absl::StrCat("that job ", job.id.value(),
                                       " runs is not in the journal; should this daemon die, "
                                       "the next one would run it again: ",
                                       written.message()));
  }
}

void DurableJobs::WriteTasks(const core::Job& job, core::TaskRows rows) {
  if (tasks_ != nullptr && !stopped_.load()) tasks_->Write(job.sequence, std::move(rows));
}

void DurableJobs::WriteEnd(std::shared_ptr<const core::Job> job, const core::JobEvent& end, std::uint64_t sequence,
                           std::function<void()> told) {
  if (journal_ == nullptr) return told();
  // Its lane was told to stop, not the job.
  if (suspended_.load() && end.end->state == core::JobState::kFailed) {
    job->ending.store(false);
    job->suspended.store(true);
    return;
  }
  Ending ending{std::move(job), end, sequence, [this, told = std::move(told)] {
                  if (!stopped_.load()) told();
                }};
  std::uint64_t bytes = 1;
  for (const core::JobOutputValue& output : end.end->outputs) bytes += ByteSize(output.signature).value_or(0);
  // Where too much waits for the disk, lanes write their ends themselves, and so run no more jobs than it can take.
  if (!ends_->Post(bytes, [this, ending] { Write(ending); }).ok()) Write(ending);
}

absl::StatusOr<std::vector<journal::SpooledFile>> DurableJobs::StoreOutputs(const Ending& ending) {
  std::vector<journal::SpoolItem> items;
  std::vector<std::shared_ptr<const HostBuffer>> buffers;
  bool synced = false;  // those that are in the index as well need not be
  for (const core::JobOutputValue& output : ending.event.end->outputs) {
    std::shared_ptr<const HostBuffer> buffer = output.data;
    if (buffer == nullptr && !output.array.empty()) {
      absl::StatusOr<core::ArrayStore::Reader> reader = engine_->arrays().Open(core::Everybody(), output.array.value());
      if (!reader.ok()) continue;  // it was freed meanwhile, or its session has ended
      buffer = std::move(reader->buffer);
      if (absl::Status status = engine_->arrays().Fetch(buffer); !status.ok()) return status;
      synced = true;
    }
    if (buffer == nullptr) continue;
    items.push_back({output.name, output.signature, buffer->bytes()});
    buffers.push_back(std::move(buffer));
  }
  std::array<std::string, 2> printed;
  if (const PrintingWork* const program = ProgramOf(*ending.job)) {
    printed = {PrintedAsText(*program->streams(), OutputStream::kOut),
               PrintedAsText(*program->streams(), OutputStream::kErr)};
    constexpr const char* kNames[] = {"stdout", "stderr"};
    for (std::size_t i = 0; i < printed.size(); ++i) {
      if (printed[i].empty()) continue;
      items.push_back({.name = kNames[i], .bytes = std::as_bytes(std::span(printed[i])), .text = true});
    }
  }
  if (items.empty()) return std::vector<journal::SpooledFile>();
  const std::vector<journal::SpoolText> texts = {
      {"receipt.json", ReceiptAsJson(*ending.job, *ending.event.end, facts_)}};
  return spool_->StoreResults(ending.job->sequence, items, texts,
                              synced ? journal::Disk::Sync::kNow : journal::Disk::Sync::kLater);
}

void DurableJobs::Write(const Ending& ending) {
  const core::JobEnd& end = *ending.event.end;
  EndMessage message = EndAsMessage(*ending.job, end, facts_);
  absl::StatusOr<std::vector<journal::SpooledFile>> files = StoreOutputs(ending);
  if (!files.ok()) {
    const bool in_index = std::all_of(end.outputs.begin(), end.outputs.end(), [](const core::JobOutputValue& output) {
      return output.data != nullptr || output.array.empty();
    });
    if (!in_index) {
      Say(LogLevel::kError, absl::StrCat(NotInJournal("the end", ending.job->id), ": ", files.status().message()));
      return ending.told();
    }
    Say(LogLevel::kWarning, absl::StrCat("the result of job ", ending.job->id.value(),
                                         " is in the journal alone: ", files.status().message()));
    files = std::vector<journal::SpooledFile>();
  }
  guests_disk_.SetResults(ending.job->sequence, BytesIn(*files));
  WriteAndTell(journal::JobEnded{.number = ending.job->sequence,
                                 .sequence = ending.sequence,
                                 .time = ending.event.time,
                                 .state = static_cast<journal::JobState>(end.state),
                                 .end = std::move(message.end),
                                 .outputs = std::move(message.outputs),
                                 .results = *std::move(files),
                                 .use = UseOf(end, facts_),
                                 .forget_request = journal::IsProgram(ending.job->spec().name()),
                                 .request_left = PlaceOf(*ending.job)},
               {NotInJournal("the end", ending.job->id), [this, ending](const absl::Status& written) {
                  if (ending.job->sweep != nullptr && written.ok()) {
                    tasks_->Ended(ending.job->sequence, /*keep_file=*/ending.job->work != nullptr);
                  }
                  ending.told();
                }});
  for (const std::uint64_t number : needed_.Ended(ending.job->sequence)) NoteFetched(number, ending.event.time);
  if (AllForJobs(end) && needed_.MayGoForJobs(ending.job->sequence))
    NoteFetched(ending.job->sequence, ending.event.time);
}

void DurableJobs::SaveArray(const core::ArraySnapshot& array, const std::string& file,
                            std::function<void(absl::Status)> done) {
  const std::uint64_t key = untold_.Add(
      {absl::StrCat("array ", array.name, " is not in the journal; should this daemon die, the next one lacks it"),
       [done = std::move(done)](const absl::Status& written) {
         done(written.ok() ? written : absl::FailedPreconditionError(written.message()));
       }});
  arrays_->WriteSaved(array, file, journal::Durability::kSynced, TellWhenWritten(key));
}

void DurableJobs::WriteAndTell(journal::Record record, Untold::News news) {
  const std::uint64_t key = untold_.Add(std::move(news));
  journal_->Append(std::move(record), journal::Durability::kSynced, TellWhenWritten(key));
}

// A disk that is full may stay so for days: then TellAll tells.
journal::Completion DurableJobs::TellWhenWritten(std::uint64_t key) {
  return [this, key](const absl::Status& written) {
    const Untold::News news = untold_.Take(key);
    if (news.tell == nullptr) return;
    if (!written.ok()) Say(LogLevel::kError, absl::StrCat(news.if_not, ": ", written.message()));
    const auto tell = [news, written] { news.tell(written); };
    if (!telling_->Post(1, tell).ok()) tell();
  };
}

void DurableJobs::TellAll(const absl::Status& why) {
  for (const Untold::News& news : untold_.TakeAll()) {
    Say(LogLevel::kError, absl::StrCat(news.if_not, ": ", why.message()));
    news.tell(why);
  }
}

void DurableJobs::Stop() {
  if (pruning_.joinable()) {
    pruning_.request_stop();
    pruning_.join();
  }
  stopped_.store(true);
  // When the writer comes to this, it has told of all that was written before, and tells of nothing more.
  if (journal_ != nullptr) journal_->With([](journal::Index&) { return absl::OkStatus(); }).IgnoreError();
  if (tasks_ != nullptr) tasks_->Stop();
  if (ends_ != nullptr) ends_->Stop();
  if (telling_ != nullptr) telling_->Stop();
}

void DurableJobs::Close(const std::string& reason) {
  if (journal_ == nullptr) return;
  if (arrays_ != nullptr) arrays_->Look();
  if (absl::Status closed = journal_->Close(reason); !closed.ok()) {
    Say(LogLevel::kWarning, absl::StrCat("the journal is not closed well, and no worse for it: ", closed.message()));
  }
}

}  // namespace hotplate::server
