// Jobs that outlive the daemon: the detached ones of kernels, expressions and programs. The life of one:
//   1. Accept has the engine check it and give it its number and its place in the queue. What it takes of held arrays
//      goes into the spool, its request into the journal; when both are on the disk, the job is acknowledged.
//   2. The engine runs it, and tells of its events here (core::JobLog).
//   3. When its run is over, its outputs go into the spool and its end into the journal; then everybody is told.
//   4. Restore gives the next daemon what there is (restoring.cpp): jobs that wait or ran are queued again, ends can be
//      fetched. Recall does so for one that ended so long ago that it has left the memory.
// A journal that cannot be written takes no new jobs, and says why; all other jobs go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/programs.pb.h"
#include "kernels/base/mutex.h"
#include "server/core/engine.h"
#include "server/core/jobs/job_log.h"
#include "server/durable/durable_arrays.h"
#include "server/durable/durable_tasks.h"
#include "server/durable/guests_disk.h"
#include "server/durable/needed_jobs.h"
#include "server/durable/stored_results.h"
#include "server/durable/untold.h"
#include "server/journal/journal.h"
#include "server/journal/prune.h"
#include "server/journal/spool.h"
#include "server/service/file_thread.h"
#include "server/wire/result.h"
#include "server/workers/program_streams.h"

namespace hotplate::server {

class DurableJobs : public core::JobLog {
 public:
  using Log = std::function<void(core::LogLevel, const std::string&)>;
  struct Options {
    journal::JournalOptions journal;
    std::string spool;      // folder of inputs and results
    std::string directory;  // HOTPLATE_DIR, where a note tells clients of a journal that is elsewhere
    journal::SpoolLimits limits;
    std::chrono::nanoseconds retention{};  // of ends that the engine keeps, as the next two
    std::size_t retained_jobs = 0;
    std::uint64_t retained_bytes = 0;        // inline
    std::chrono::nanoseconds age{};          // of fetched results in the spool; 0: any
    std::chrono::nanoseconds history_age{};  // of rows in the journal; 0: any
    Log log;
  };

  // Never null: if the journal cannot be opened, Accepting says why.
  static std::shared_ptr<DurableJobs> Open(Options options);
  ~DurableJobs() override;

  // OK, or why no job is taken now.
  absl::Status Accepting() const;
  // The largest number that a job in the journal has: new ones have to be above it.
  std::uint64_t last_number() const { return recovered_.last_number; }

  // The requests of what a daemon before this one took. They may look at files.
  struct Parse {
    std::function<absl::StatusOr<core::JobRequest>(const core::Principal& who, const v1::JobSpec& spec)> job;
    std::function<absl::StatusOr<core::JobRequest>(const v1::Program& program)> program;
  };
  // Once, before Accept: the engine whose log this is gets the jobs of daemons before this one.
  void Restore(core::Engine& engine, const wire::ReceiptFacts& facts, const Parse& parse);

  // False for functions, which are only known to the daemon that was given them, and for what takes their results.
  bool CanOutlive(const core::Principal& who, const core::JobRequest& request) const;
  // Calls `done` once, on any thread: with the id, when the job is on the disk. `request` is what `spec` says. Waits
  // for the file system if MustWait. A guest's job for which the token has no room on the disk is RESOURCE_EXHAUSTED
  // (guests_disk.h).
  using Done = std::function<void(absl::StatusOr<core::JobId>)>;
  bool MustWait(const core::Principal& who, const v1::JobSpec& spec) const;
  void Accept(const core::Principal& who, core::JobRequest request, const v1::JobSpec& spec, Done done);
  void Accept(const core::Principal& who, core::JobRequest request, const v1::Program& program, Done done);

  // Calls `done` once, on any thread, when the next daemon would know of the cancel too. Cancels also a job that waits
  // for the next daemon.
  using Cancelled = std::function<void(absl::StatusOr<core::JobSnapshot>)>;
  void Cancel(const core::Principal& who, const core::JobId& id, Cancelled done);

  // The engine does not know the job, but the journal may; or its result, if that is wanted, is in files alone.
  bool MustRecall(const core::Principal& who, const core::JobId& id, bool result) const;
  // Brings it back. OK also for a job that never was. Waits for the file system. One call at a time.
  absl::Status Recall(const core::Principal& who, const core::JobId& id, bool result);
  // FAILED_PRECONDITION if the request id is that of a job that waits for the next daemon.
  absl::Status CheckNotAway(const core::Principal& who, const std::string& request_id) const;
  // Why a job in the journal cannot go on under this daemon; empty if it is none of these.
  std::string WhyAway(const std::string& id) const;

  // Deletes what jobs that ended at least that long ago left in the spool. Waits for the file system.
  absl::StatusOr<journal::PruneReport> Prune(std::chrono::nanoseconds age);

  // From Restore on. Null: the journal could not be opened.
  DurableArrays* arrays() const { return arrays_.get(); }
  // The output of one task of a program's sweep. NOT_FOUND: it has not ended, or is none. Reads a file.
  absl::StatusOr<ProgramStreams::Everything> PrintedBy(const core::JobId& id, std::uint64_t task) const;
  // The array is whole in this file. Calls `done` once, on any thread, when the next daemon would have it, or would
  // not.
  void SaveArray(const core::ArraySnapshot& array, const std::string& file, std::function<void(absl::Status)> done);

  void Append(const core::Job& job, const core::JobEvent& event) override;
  void WriteStart(const core::Job& job, const core::JobEvent& start, std::uint64_t sequence) override;
  void WriteEnd(std::shared_ptr<const core::Job> job, const core::JobEvent& end, std::uint64_t sequence,
                std::function<void()> told) override;
  absl::Status Reserve(const core::Job& job) override;
  void WriteTasks(const core::Job& job, core::TaskRows rows) override;
  void Suspend() override { suspended_.store(true); }
  void Stop() override;

  // Writes what is left, and closes the journal. After Stop, or instead of it if the process is about to end.
  void Close(const std::string& reason);

 private:
  struct Ending {
    std::shared_ptr<const core::Job> job;
    core::JobEvent event;
    std::uint64_t sequence;
    std::function<void()> told;
  };
  // A job that has to wait for the next daemon.
  struct Away {
    std::string owner, request_key, why;
    bool ending = false;  // somebody cancels it
  };

  explicit DurableJobs(Options options) : options_(std::move(options)) {}
  absl::Status OpenJournal();
  absl::Status OpenSpool();
  void NoteFacts();
  void LearnFromPast();
  // `in_memory`: there is room for the outputs that were inline; else they are read from files when they are wanted.
  void RestoreEnded(const journal::KeptJob& kept, bool in_memory);
  absl::StatusOr<journal::KeptJob> Find(std::uint64_t number) const;
  // Gives a sweep back what it has done. ABORTED if daemons ended again and again while it did no more.
  absl::Status RestoreTasks(std::uint64_t number, std::ptrdiff_t runs, core::SweepRun& sweep);
  void RestoreUnfinished(const journal::KeptJob& kept, const Parse& parse);
  // Brings the ended jobs on which this one depends into memory, with the outputs that it takes. An error: they are not
  // to be had, for now or for good.
  absl::Status RecallOthers(const core::Principal& who, const core::JobRequest& request);
  // Brings back at least the state in which the job ended.
  absl::Status RecallState(const core::Principal& who, const core::JobId& id);
  // Frees a job's arrays that are for other jobs alone, once all restored jobs have taken them.
  void FreeForJobs(const core::JobId& id);
  // INVALID_ARGUMENT if it takes an output of a job that does not outlive the daemon.
  absl::Status CheckInputsOutlive(const core::Principal& who, const core::JobRequest& request) const;
  // Why those that it depends on cannot go on under this daemon; empty if they can.
  std::string WhyOthersAreAway(const core::JobRequest& request) const;
  // Its result was fetched, or can be fetched by nobody.
  void NoteFetched(std::uint64_t number, journal::WallTime time);
  absl::StatusOr<core::JobRequest> RequestOf(const journal::KeptJob& kept, const core::Principal& owner, bool ran,
                                             const Parse& parse) const;
  // Of a program: what it printed is in the journal alone.
  bool IsUnloaded(const core::JobId& id) const;
  absl::Status LoadPrinted(const core::Principal& who, const core::JobId& id);
  // Ends a job that is away.
  absl::Status CancelAway(std::uint64_t number);
  // `bytes`: the request's message. `arrays`: those that it takes, by the names of its inputs.
  void Accept(const core::Principal& who, core::JobRequest request, std::string bytes,
              const std::map<std::string, std::string>& arrays, Done done);
  absl::StatusOr<journal::Spool::Stored> StoreInputs(const core::Job& job, std::uint64_t request,
                                                     const std::map<std::string, std::string>& arrays);
  // Room on the disk for a new job, whose request has so many bytes. Waits for the file system.
  absl::Status TakeRoom(const core::Job& job, std::uint64_t request, std::span<const journal::SpooledFile> inputs);
  // Releases what the token has fetched, the oldest first, until there is enough. Waits for the file system.
  void MakeRoom(const std::string& token, const std::function<bool()>& enough);
  void KeepGuestsWithin();
  journal::PruneBounds NowBounds();
  // From the journal, what guests have on the disk.
  void CountGuests();
  // Of a job that does not outlive the daemon, for the history.
  void NoteEnd(const core::Job& job);
  void Write(const Ending& ending);
  absl::StatusOr<std::vector<journal::SpooledFile>> StoreOutputs(const Ending& ending);
  void PruneNowAndThen(const std::stop_token& stop);
  void Tidy(const std::stop_token& stop, std::string& told);
  void TidyOthers(const std::stop_token& stop);
  // Writes the record, and tells `news` when it is on the disk.
  void WriteAndTell(journal::Record record, Untold::News news);
  // What waits to be written is told all the same.
  void TellAll(const absl::Status& why);
  // For the journal: calls the news of that key.
  journal::Completion TellWhenWritten(std::uint64_t key);
  absl::Status NotTaken(const absl::Status& why) const;
  void Say(core::LogLevel level, const std::string& text) const { options_.log(level, text); }

  const Options options_;
  std::unique_ptr<journal::Spool> spool_;
  std::unique_ptr<journal::Journal> journal_;  // null: it could not be opened, and `unable_` says why
  journal::Recovered recovered_;               // until Restore
  absl::Status unable_;
  core::Engine* engine_ = nullptr;
  wire::ReceiptFacts facts_;

  mutable Mutex mutex_;
  std::map<std::uint64_t, Away> away_ ABSL_GUARDED_BY(mutex_);  // by number
  std::set<std::uint64_t> unloaded_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> suspended_{false}, stopped_{false};
  Untold untold_;
  NeededJobs needed_;
  GuestsDisk guests_disk_;
  std::unique_ptr<StoredResults> stored_;
  std::unique_ptr<DurableTasks> tasks_;
  std::unique_ptr<DurableArrays> arrays_;
  std::chrono::steady_clock::time_point next_prune_, next_prune_of_others_;  // of the pruning thread
  // Two, so that clients hear of what is written while other ends wait for a slow disk.
  std::unique_ptr<FileThread> ends_, telling_;
  std::jthread pruning_;
};

}  // namespace hotplate::server
