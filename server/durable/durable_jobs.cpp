#include "server/durable/durable_jobs.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/npy.h"
#include "server/durable/job_messages.h"
#include "server/journal/places.h"
#include "server/wire/job.h"

namespace hotplate::server {
namespace {

using core::LogLevel;
using std::chrono::steady_clock;

constexpr std::chrono::minutes kPruneInterval(1);
constexpr std::chrono::seconds kHealthInterval(1);
// Files of results are written side by side: each waits for the disk.
constexpr std::size_t kWriters = 4;
// Of a job whose daemon ends each time: a kernel that takes its daemon along is not to do so for ever.
constexpr std::ptrdiff_t kMostRuns = 5;

const core::Principal& Everybody() {
  static const core::Principal everybody{"", core::SessionId(), core::Scope::kAdmin};
  return everybody;
}

std::set<std::string> ArrayInputs(const v1::JobSpec& spec) {
  std::set<std::string> names;
  for (const v1::JobInput& input : spec.inputs()) {
    if (input.source_case() == v1::JobInput::kArrayId) names.insert(input.name());
  }
  return names;
}

absl::Status About(const journal::SpooledFile& file, const NpyError& error) {
  return absl::DataLossError(absl::StrCat(file.file, ": ", error.message));
}

}  // namespace

std::shared_ptr<DurableJobs> DurableJobs::Open(Options options) {
  std::shared_ptr<DurableJobs> jobs(new DurableJobs(std::move(options)));
  jobs->unable_ = jobs->OpenJournal();
  if (!jobs->unable_.ok()) {
    jobs->spool_.reset();
    jobs->journal_.reset();
    jobs->Say(LogLevel::kError, absl::StrCat("no detached jobs are taken: the journal in ",
                                             jobs->options_.journal.folder, ": ", jobs->unable_.message()));
  }
  return jobs;
}

DurableJobs::~DurableJobs() { Stop(); }

absl::Status DurableJobs::OpenJournal() {
  absl::StatusOr<std::unique_ptr<journal::Journal>> opened = journal::Journal::Open(options_.journal);
  if (!opened.ok()) return opened.status();
  journal_ = *std::move(opened);
  const absl::StatusOr<std::uint64_t> used = journal::SpooledBytes(*journal_);
  if (!used.ok()) return used.status();
  absl::StatusOr<std::unique_ptr<journal::Spool>> spool =
      journal::Spool::Open({options_.spool, journal_->id(), *used, options_.limits});
  if (absl::IsFailedPrecondition(spool.status())) {
    // Another HOTPLATE_DIR has a daemon of this name on the same scratch.
    spool = journal::Spool::Open(
        {absl::StrCat(options_.spool, "-", journal_->id()), journal_->id(), *used, options_.limits});
  }
  if (!spool.ok()) return spool.status();
  spool_ = *std::move(spool);
  const absl::Status noted = journal::NotePlace(
      journal::Disk::Real(), options_.directory,
      {.name = options_.journal.life.name, .folder = options_.journal.folder, .spool = spool_->root()});
  if (!noted.ok()) {
    Say(LogLevel::kWarning, absl::StrCat("hotplate history may not find this journal: ", noted.message()));
  }
  if (const absl::Status swept = journal::SweepSpool(*journal_, *spool_).status(); !swept.ok()) {
    Say(LogLevel::kWarning, absl::StrCat("what killed daemons left in ", options_.spool, " stays: ", swept.message()));
  }
  absl::StatusOr<journal::Recovered> recovered =
      journal_->Recover({.ended_since = journal::WallTime::clock::now() -
                                        std::chrono::duration_cast<journal::WallTime::duration>(options_.retention),
                         .most_ended = options_.retained_jobs});
  if (recovered.ok()) recovered_ = *std::move(recovered);
  return recovered.status();
}

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

void DurableJobs::Restore(core::Engine& engine, const wire::ReceiptFacts& facts, const Parse& parse) {
  engine_ = &engine;
  facts_ = facts;
  ends_ = std::make_unique<FileThread>(kWriters);
  if (journal_ == nullptr) return;
  const journal::Recovered recovered = std::exchange(recovered_, {});
  // The newest ends, as far as there is room for what was inline.
  std::uint64_t bytes_left = options_.retained_bytes;
  for (auto kept = recovered.ended.rbegin(); kept != recovered.ended.rend(); ++kept) RestoreEnded(*kept, bytes_left);
  for (const journal::KeptJob& kept : recovered.unfinished) RestoreUnfinished(kept, parse);
  if (!recovered.ended.empty() || !recovered.unfinished.empty()) {
    Say(LogLevel::kInfo, absl::StrCat("from the journal: ", recovered.unfinished.size(),
                                      " jobs that go on, and the ends of ", recovered.ended.size()));
  }
  pruning_ = std::jthread([this](const std::stop_token& stop) { PruneNowAndThen(stop); });
}

void DurableJobs::RestoreEnded(const journal::KeptJob& kept, std::uint64_t& bytes_left) {
  core::RestoredJob job = RestoredFrom(kept);
  // A request id is known for the retention time, and an old one means a new job.
  if (*kept.end_time <
      journal::WallTime::clock::now() - std::chrono::duration_cast<journal::WallTime::duration>(options_.retention)) {
    job.request_key.clear();
  }
  const bool has_room = kept.outputs.size() <= bytes_left;
  if (has_room) bytes_left -= kept.outputs.size();
  absl::StatusOr<core::JobEnd> end = EndFrom(kept, has_room ? &engine_->arrays() : nullptr);
  if (!end.ok()) return Say(LogLevel::kError, std::string(end.status().message()));
  const bool stored =
      std::any_of(end->outputs.begin(), end->outputs.end(), [](const auto& output) { return output.stored; });
  if (stored) {
    MutexLock lock(mutex_);
    stored_[job.number] = kept.results;
  }
  job.end = std::make_shared<const core::JobEnd>(*std::move(end));
  engine_->Restore(std::move(job)).IgnoreError();  // it has ended
}

void DurableJobs::RestoreUnfinished(const journal::KeptJob& kept, const Parse& parse) {
  core::RestoredJob job = RestoredFrom(kept);
  const bool ran = job.changes.back().state == core::JobState::kRunning;
  const auto runs = std::count_if(job.changes.begin(), job.changes.end(),
                                  [](const auto& change) { return change.state == core::JobState::kRunning; });
  if (ran && !kept.accepted.may_rerun) {
    job.refusal = absl::AbortedError("it ran when its daemon ended, and is not to run again (--no-rerun)");
  } else if (runs >= kMostRuns) {
    job.refusal = absl::AbortedError(absl::StrCat(
        "it has run ", runs, " times, and its daemon ended each time before it did: it may be what ended them"));
  } else {
    if (ran) {
      journal::JobRequeued again{.number = job.number,
                                 .sequence = job.changes.size() + 1,
                                 .time = journal::WallTime::clock::now(),
                                 .reason = "its daemon ended"};
      job.changes.push_back({again.sequence, core::JobState::kPending, again.time, ""});
      journal_->Append(std::move(again), journal::Durability::kBehind);
    }
    absl::StatusOr<core::JobRequest> request = RequestOf(kept, job, ran, parse);
    if (request.ok()) {
      request->payload_hash = job.request.payload_hash;
      job.request = *std::move(request);
    }
    job.refusal = request.status();
  }
  if (absl::Status later = engine_->Restore(std::move(job)); !later.ok()) {
    Say(LogLevel::kWarning,
        absl::StrCat("job ", kept.accepted.number, " stays in the journal for the next daemon: ", later.message()));
  }
}

absl::StatusOr<core::JobRequest> DurableJobs::RequestOf(const journal::KeptJob& kept, const core::RestoredJob& job,
                                                        bool ran, const Parse& parse) const {
  v1::JobSpec spec;
  if (!spec.ParseFromString(kept.accepted.request)) return absl::DataLossError("its request is no message of one");
  if (ran) {
    // What it wrote before its daemon died is its own.
    for (v1::JobOutput& output : *spec.mutable_outputs()) output.set_replace(!output.path().empty());
  }
  absl::StatusOr<core::JobRequest> request = parse(job.owner, spec);
  if (!request.ok()) return request;
  for (core::JobInput& input : request->inputs) {
    for (const journal::SpooledFile& file : kept.accepted.inputs) {
      if (file.name != input.name || !file.signature) continue;
      // Opened when it runs: ten thousand that wait would take all descriptors.
      input.signature = *file.signature;
      input.source = core::StoredArray{spool_->PathOf(file)};
    }
  }
  return request;
}

bool DurableJobs::MustWait(const v1::JobSpec& spec) { return wire::NeedsFiles(spec) || !ArrayInputs(spec).empty(); }

absl::StatusOr<journal::Spool::Stored> DurableJobs::StoreInputs(const core::Job& job, const v1::JobSpec& spec) {
  const std::set<std::string> names = ArrayInputs(spec);
  std::vector<journal::SpoolItem> items;
  for (std::size_t i = 0; i < job.bound.inputs.size(); ++i) {
    const std::string& name = job.spec().inputs()[i].name;
    const std::shared_ptr<const HostBuffer>& buffer = job.bound.inputs[i].buffer;
    if (!names.contains(name) || buffer == nullptr) continue;
    if (absl::Status status = engine_->arrays().Fetch(buffer); !status.ok()) return status;
    items.push_back({name, job.bound.call.inputs[i], buffer->bytes(), /*shared=*/true});
  }
  absl::StatusOr<journal::Spool::Stored> stored = spool_->StoreInputs(job.sequence, items);
  if (!stored.ok()) {
    return absl::Status(stored.status().code(),
                        absl::StrCat("the arrays that the job takes cannot be kept for it in ", options_.spool, ": ",
                                     stored.status().message(), "; run it attached (hotplate run)"));
  }
  return stored;
}

void DurableJobs::Accept(const core::Principal& who, core::JobRequest request, const v1::JobSpec& spec, Done done) {
  if (absl::Status status = Accepting(); !status.ok()) return done(status);
  std::string bytes = wire::CanonicalBytes(spec);
  const std::string kernel = request.kernel;
  absl::StatusOr<core::Engine::Accepted> accepted = engine_->Accept(who, std::move(request));
  if (!accepted.ok()) return done(accepted.status());
  if (accepted->job == nullptr) return done(accepted->id);
  const std::shared_ptr<core::Job>& job = accepted->job;

  auto stored = std::make_shared<std::optional<journal::Spool::Stored>>();
  journal::JobAccepted record = AcceptedRecord(*job, kernel, std::move(bytes));
  if (!ArrayInputs(spec).empty()) {
    absl::StatusOr<journal::Spool::Stored> inputs = StoreInputs(*job, spec);
    if (!inputs.ok()) {
      engine_->Withdraw(*job);
      return done(inputs.status());
    }
    record.inputs = inputs->files();
    stored->emplace(*std::move(inputs));
  }
  journal_->Append(std::move(record), journal::Durability::kSynced,
                   [this, job, stored, done = std::move(done)](const absl::Status& written) {
                     if (!written.ok()) {
                       engine_->Withdraw(*job);
                       return done(NotTaken(written));
                     }
                     if (*stored) (*stored)->Keep();
                     const core::JobId id = job->id;
                     engine_->Acknowledge(*job);
                     done(id);
                   });
}

void DurableJobs::Append(const core::Job& job, const core::JobEvent& event) {
  if (journal_ == nullptr) return;
  if (!job.durable) {
    if (job.record().end != nullptr && event.kind == core::EndingIn(job.record().state)) NoteEnd(job);
    return;
  }
  if (event.kind == core::JobEvent::Kind::kStarted && !job.waits_for_start) {
    journal_->Append(journal::JobStarted{job.sequence, job.change_count(), event.time, event.device},
                     journal::Durability::kBehind);
  } else if (event.kind == core::JobEvent::Kind::kFetched) {
    journal_->Append(journal::JobFetched{job.sequence, event.time}, journal::Durability::kBehind);
  }
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
                             .use = UseOf(*record.end)};
  if (job.change_count() > 2) ended.started = job.change(1).time;
  journal_->Note(std::move(ended), [&] { return EndAsMessage(job, *record.end, facts_).end; });
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

void DurableJobs::WriteEnd(std::shared_ptr<const core::Job> job, const core::JobEvent& end, std::uint64_t sequence,
                           std::function<void()> told) {
  if (journal_ == nullptr) return told();
  // Its lane was told to stop, not it.
  if (suspended_.load() && end.end->state == core::JobState::kFailed) {
    job->ending.store(false);
    job->suspended.store(true);
    return;
  }
  Ending ending{std::move(job), end, sequence, std::move(told)};
  // A lane that finds too much to be written writes its own.
  if (!ends_->Post(1, [this, ending] { Write(ending); }).ok()) Write(ending);
}

absl::StatusOr<std::vector<journal::SpooledFile>> DurableJobs::StoreOutputs(const Ending& ending) {
  std::vector<journal::SpoolItem> items;
  std::vector<std::shared_ptr<const HostBuffer>> buffers;
  bool synced = false;  // those that are in the index as well need not be
  for (const core::JobOutputValue& output : ending.event.end->outputs) {
    std::shared_ptr<const HostBuffer> buffer = output.data;
    if (buffer == nullptr && !output.array.empty()) {
      absl::StatusOr<core::ArrayStore::Reader> reader = engine_->arrays().Open(Everybody(), output.array.value());
      if (!reader.ok()) continue;  // it was freed meanwhile, or its session has ended
      buffer = std::move(reader->buffer);
      if (absl::Status status = engine_->arrays().Fetch(buffer); !status.ok()) return status;
      synced = true;
    }
    if (buffer == nullptr) continue;
    items.push_back({output.name, output.signature, buffer->bytes()});
    buffers.push_back(std::move(buffer));
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
  const auto unwritten = [this, id = ending.job->id](const absl::Status& status) {
    Say(LogLevel::kError, absl::StrCat("the end of job ", id.value(),
                                       " is not in the journal, and is lost with this daemon, which would "
                                       "have the next one run it again: ",
                                       status.message()));
  };
  if (!files.ok()) {
    const bool in_index = std::all_of(end.outputs.begin(), end.outputs.end(), [](const core::JobOutputValue& output) {
      return output.data != nullptr || output.array.empty();
    });
    if (!in_index) {
      unwritten(files.status());
      return ending.told();
    }
    Say(LogLevel::kWarning, absl::StrCat("the result of job ", ending.job->id.value(),
                                         " is in the journal alone: ", files.status().message()));
    files = std::vector<journal::SpooledFile>();
  }
  journal::JobEnded record{.number = ending.job->sequence,
                           .sequence = ending.sequence,
                           .time = ending.event.time,
                           .state = static_cast<journal::JobState>(end.state),
                           .end = std::move(message.end),
                           .outputs = std::move(message.outputs),
                           .results = *std::move(files),
                           .use = UseOf(end)};
  // A disk that is full may stay so for days: then TellWaiting tells.
  {
    MutexLock lock(mutex_);
    waiting_[record.number] = ending.told;
  }
  const std::uint64_t number = record.number;
  journal_->Append(std::move(record), journal::Durability::kSynced,
                   [this, number, unwritten](const absl::Status& written) {
                     if (!written.ok()) unwritten(written);
                     if (stopped_.load()) return;
                     std::function<void()> told = TakeWaiting(number);
                     if (told != nullptr && !ends_->Post(1, told).ok()) told();
                   });
}

bool DurableJobs::IsStored(const core::JobId& id) const {
  MutexLock lock(mutex_);
  return stored_.contains(core::JobTable::NumberOf(id.value()));
}

absl::Status DurableJobs::Load(const core::Principal& who, const core::JobId& id) {
  const absl::StatusOr<std::shared_ptr<core::Job>> job = engine_->Find(who, id);
  if (!job.ok()) return job.status();
  MutexLock loading(loading_);
  std::vector<journal::SpooledFile> files;
  {
    MutexLock lock(mutex_);
    const auto at = stored_.find((*job)->sequence);
    if (at == stored_.end()) return absl::OkStatus();
    files = at->second;
  }
  const absl::StatusOr<core::JobSnapshot> snapshot = engine_->Get(who, id);
  if (!snapshot.ok()) return snapshot.status();
  core::JobEnd end = *snapshot->end;
  core::Principal owner = (*job)->owner;
  owner.session = core::SessionId();  // they go with the job
  std::vector<core::ArrayId> owned;
  absl::Status status = [&]() -> absl::Status {
    for (core::JobOutputValue& output : end.outputs) {
      const auto file =
          std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.name == output.name; });
      if (!output.stored || file == files.end()) continue;
      const std::string path = spool_->PathOf(*file);
      if (absl::Status whole = journal::CheckFile(path, *file); !whole.ok()) return whole;
      std::variant<NpyFile, NpyError> opened = NpyFile::Open(path);
      if (const auto* error = std::get_if<NpyError>(&opened)) return About(*file, *error);
      absl::StatusOr<std::shared_ptr<HostBuffer>> buffer =
          engine_->arrays().AllocateArray(ByteSize(output.signature).value_or(0));
      if (!buffer.ok()) return buffer.status();
      if (const auto error = std::get<NpyFile>(opened).Read((*buffer)->bytes())) return About(*file, *error);
      absl::StatusOr<core::ArraySnapshot> array =
          engine_->arrays().Adopt(owner, output.signature, "", std::nullopt, *std::move(buffer));
      if (!array.ok()) return array.status();
      output.array = array->id;
      output.stored = false;
      owned.push_back(array->id);
    }
    return absl::OkStatus();
  }();
  if (!status.ok()) {
    for (const core::ArrayId& array : owned) engine_->arrays().Free(Everybody(), array.value()).IgnoreError();
    return absl::Status(status.code(), absl::StrCat("the result of job ", id.value(),
                                                    ", which a daemon before this one "
                                                    "wrote down, cannot be loaded: ",
                                                    status.message()));
  }
  if (!engine_->Load(**job, std::make_shared<const core::JobEnd>(std::move(end)), owned)) {
    for (const core::ArrayId& array : owned) engine_->arrays().Free(Everybody(), array.value()).IgnoreError();
  }
  MutexLock lock(mutex_);
  stored_.erase((*job)->sequence);
  return absl::OkStatus();
}

absl::StatusOr<journal::PruneReport> DurableJobs::Prune(std::chrono::nanoseconds age) {
  if (journal_ == nullptr) return Accepting();
  age = std::max(age, std::chrono::nanoseconds(1));  // 0 is for no bound
  return journal::Prune(*journal_, spool_.get(), {.now = journal::WallTime::clock::now(), .age = age});
}

void DurableJobs::PruneNowAndThen(const std::stop_token& stop) {
  Mutex mutex;
  CondVar stopped;
  const std::stop_callback wake(stop, [&] {
    MutexLock lock(mutex);
    stopped.NotifyAll();
  });
  std::string told;
  while (!stop.stop_requested()) {
    // What is released is written down first, which a full disk does not let happen.
    if (const absl::Status healthy = journal_->Accepting(); !healthy.ok()) {
      TellWaiting(healthy);
    } else {
      Tidy(told);
    }
    const steady_clock::time_point until = steady_clock::now() + kHealthInterval;
    MutexLock lock(mutex);
    while (!stop.stop_requested() && stopped.WaitUntil(mutex, until)) {
    }
  }
}

void DurableJobs::Tidy(std::string& told) {
  if (steady_clock::now() < next_prune_) return;
  next_prune_ = steady_clock::now() + kPruneInterval;
  const absl::StatusOr<journal::PruneReport> report = journal::Prune(*journal_, spool_.get(),
                                                                     {.now = journal::WallTime::clock::now(),
                                                                      .age = options_.age,
                                                                      .bytes = options_.limits.bytes,
                                                                      .history_age = options_.history_age});
  const std::string trouble = !report.ok()            ? std::string(report.status().message())
                              : report->notes.empty() ? ""
                                                      : report->notes.front();
  if (!trouble.empty() && trouble != told) Say(LogLevel::kWarning, absl::StrCat("tidying up the journal: ", trouble));
  told = trouble;
}

void DurableJobs::TellWaiting(const absl::Status& why) {
  std::map<std::uint64_t, std::function<void()>> waiting;
  {
    MutexLock lock(mutex_);
    std::swap(waiting, waiting_);
  }
  for (const auto& [number, told] : waiting) {
    Say(LogLevel::kError, absl::StrCat("the end of job ", number,
                                       " is not in the journal yet; should this daemon die, the "
                                       "next one would run it again: ",
                                       why.message()));
    told();
  }
}

std::function<void()> DurableJobs::TakeWaiting(std::uint64_t number) {
  MutexLock lock(mutex_);
  const auto at = waiting_.find(number);
  if (at == waiting_.end()) return nullptr;
  std::function<void()> told = std::move(at->second);
  waiting_.erase(at);
  return told;
}

void DurableJobs::Stop() {
  if (pruning_.joinable()) {
    pruning_.request_stop();
    pruning_.join();
  }
  stopped_.store(true);
  // When the writer comes to this, it has told of all that was written before, and tells of nothing more.
  if (journal_ != nullptr) journal_->With([](journal::Index&) { return absl::OkStatus(); }).IgnoreError();
  ends_.reset();
}

void DurableJobs::Close(const std::string& reason) {
  if (journal_ == nullptr) return;
  if (absl::Status closed = journal_->Close(reason); !closed.ok()) {
    Say(LogLevel::kWarning, absl::StrCat("the journal is not closed well, and no worse for it: ", closed.message()));
  }
}

}  // namespace hotplate::server
