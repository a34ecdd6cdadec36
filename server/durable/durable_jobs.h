// Jobs that outlive the daemon: the detached ones of kernels and expressions. The life of one:
//   1. Accept has the engine check it and give it its number and its place in the queue. What it takes of held arrays
//      goes into the spool, its request into the journal; when both are on the disk, the job is acknowledged.
//   2. The engine runs it, and tells of its events here (core::JobLog).
//   3. When its run is over, its outputs go into the spool and its end into the journal; then everybody is told.
//   4. Restore gives the next daemon what there is: jobs that wait or ran are queued again, ends can be fetched.
// A journal that cannot be written takes no new jobs, and says why; all other jobs go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/jobs.pb.h"
#include "kernels/base/mutex.h"
#include "server/core/engine.h"
#include "server/core/jobs/job_log.h"
#include "server/journal/journal.h"
#include "server/journal/prune.h"
#include "server/journal/spool.h"
#include "server/service/file_thread.h"
#include "server/wire/result.h"

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

  // Always gives one: where the journal cannot be opened, Accepting tells why.
  static std::shared_ptr<DurableJobs> Open(Options options);
  ~DurableJobs() override;

  // OK, or why no job is taken now.
  absl::Status Accepting() const;
  // The largest number that a job in the journal has: new ones have to be above it.
  std::uint64_t last_number() const { return recovered_.last_number; }

  // The request of a spec that a daemon before this one took. May look at files.
  using Parse = std::function<absl::StatusOr<core::JobRequest>(const core::Principal& who, const v1::JobSpec& spec)>;
  // Once, before Accept: the engine whose log this is gets the jobs of daemons before this one.
  void Restore(core::Engine& engine, const wire::ReceiptFacts& facts, const Parse& parse);

  // Calls `done` once, on any thread: with the id, when the job is on the disk. `request` is what `spec` says. Waits
  // for the file system if MustWait.
  using Done = std::function<void(absl::StatusOr<core::JobId>)>;
  static bool MustWait(const v1::JobSpec& spec);
  void Accept(const core::Principal& who, core::JobRequest request, const v1::JobSpec& spec, Done done);

  // The job's outputs are still in files alone.
  bool IsStored(const core::JobId& id) const;
  // Makes arrays of them. Waits for the file system.
  absl::Status Load(const core::Principal& who, const core::JobId& id);

  // Deletes what jobs that ended at least that long ago left in the spool. Waits for the file system.
  absl::StatusOr<journal::PruneReport> Prune(std::chrono::nanoseconds age);

  void Append(const core::Job& job, const core::JobEvent& event) override;
  void WriteStart(const core::Job& job, const core::JobEvent& start, std::uint64_t sequence) override;
  void WriteEnd(std::shared_ptr<const core::Job> job, const core::JobEvent& end, std::uint64_t sequence,
                std::function<void()> told) override;
  void Suspend() override { suspended_.store(true); }
  void Stop() override;

  // The journal is complete. After Stop, or in its place if the process is about to end.
  void Close(const std::string& reason);

 private:
  struct Ending {
    std::shared_ptr<const core::Job> job;
    core::JobEvent event;
    std::uint64_t sequence;
    std::function<void()> told;
  };

  explicit DurableJobs(Options options) : options_(std::move(options)) {}
  absl::Status OpenJournal();
  void RestoreEnded(const journal::KeptJob& kept, std::uint64_t& bytes_left);
  void RestoreUnfinished(const journal::KeptJob& kept, const Parse& parse);
  absl::StatusOr<core::JobRequest> RequestOf(const journal::KeptJob& kept, const core::RestoredJob& job, bool ran,
                                             const Parse& parse) const;
  absl::StatusOr<journal::Spool::Stored> StoreInputs(const core::Job& job, const v1::JobSpec& spec);
  // Of a job that does not outlive the daemon, for the history.
  void NoteEnd(const core::Job& job);
  void Write(const Ending& ending);
  absl::StatusOr<std::vector<journal::SpooledFile>> StoreOutputs(const Ending& ending);
  void PruneNowAndThen(const std::stop_token& stop);
  void Tidy(std::string& told);
  // The ends that wait to be written are told all the same.
  void TellWaiting(const absl::Status& why);
  std::function<void()> TakeWaiting(std::uint64_t number);
  absl::Status NotTaken(const absl::Status& why) const;
  void Say(core::LogLevel level, const std::string& text) const { options_.log(level, text); }

  const Options options_;
  std::unique_ptr<journal::Spool> spool_;
  std::unique_ptr<journal::Journal> journal_;  // null: it could not be opened, and `unable_` says why
  journal::Recovered recovered_;               // until Restore
  absl::Status unable_;
  core::Engine* engine_ = nullptr;
  wire::ReceiptFacts facts_;

  std::atomic<bool> suspended_{false}, stopped_{false};
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::vector<journal::SpooledFile>> stored_ ABSL_GUARDED_BY(mutex_);  // by job
  std::map<std::uint64_t, std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);             // ends, by job
  std::chrono::steady_clock::time_point next_prune_;                                           // of the pruning thread
  Mutex loading_;  // held while files are read; taken before mutex_
  std::unique_ptr<FileThread> ends_;
  std::jthread pruning_;
};

}  // namespace hotplate::server
