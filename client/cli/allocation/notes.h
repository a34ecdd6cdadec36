// The client's own notes of the allocations that it submitted or attached to: $HOTPLATE_DIR/allocations/NAME.json, mode
// 0600. By them `status` and `down` find a job without a daemon, `down` knows which job it may cancel, and `up --again`
// repeats a request. A note stays after its job, with the job's end; the oldest of these are removed.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/scheduler/scheduler.h"
#include "client/cli/settings.h"
#include "client/cli/sites/site.h"

namespace hotplate::cli {

struct AllocationNote {
  std::string name;       // the daemon's
  std::string site = {};  // the profile's; empty: none was used
  SchedulerKind scheduler = SchedulerKind::kSlurm;
  SchedulerJob job;
  std::string output_file = {};           // the file with the job's output; absolute
  std::vector<std::string> request = {};  // the words of `up` that ask for the same again
  int gpus = 0;                           // as requested
  EpochSeconds submit_time = 0;
  // The jobs of `up --follow-on` that go on under this name when `job` has ended, and those that came before it.
  std::vector<std::string> follow_on = {}, earlier = {};
  bool attached = false;   // the job is the user's own: never cancelled from here
  bool was_ready = false;  // attached only: its daemon has been there
  // Set once the job is known to be over.
  std::string end_state = {};  // the scheduler's word; empty: not known to be over
  std::string end_reason = {};
  std::optional<EpochSeconds> end_time = {};

  bool over() const { return !end_state.empty(); }
};

// Whether notes can be written: makes the folder and tries, so that a full disk shows before anything is submitted.
absl::Status PrepareNotes(const std::string& directory);
// Replaces a note of that name.
absl::Status WriteNote(const std::string& directory, const AllocationNote& note);
// Nothing if the note does not exist, others could have written it, or it is damaged.
std::optional<AllocationNote> ReadNote(const std::string& directory, const std::string& name);
// All of them, the latest submission first.
std::vector<AllocationNote> ReadNotes(const std::string& directory);
void RemoveNote(const std::string& directory, const std::string& name);

// The one that the settings lead to: of the daemon that is asked for or current, if it has one; where no daemon is
// known at all, the latest that is not over, else the latest.
std::optional<AllocationNote> NoteFor(const Settings& settings);

// The name of the record that this job's daemon has published; nothing while there is none. Records are matched by job,
// not only by name. An unreadable record under the note's name counts as its own, and so does any for LSF, whose jobs
// daemons do not know. `others`: names known to be other jobs' records, which are not read again.
std::optional<std::string> RecordedName(const std::string& directory, const AllocationNote& note,
                                        std::set<std::string>* others = nullptr);

// This user, in the form in which Slurm's commands print one.
std::string UserNumber();

// The note with how its job ended.
AllocationNote WithEnd(AllocationNote note, const JobStatus& status);
// Writes that down, for later, or that the next job follows on. Where its daemon is the current one, none is.
void NoteTheEnd(const std::string& directory, const AllocationNote& note, const JobStatus& status);

// The scheduler's commands as found in PATH. `stop` ends a question to it, never a submission or a cancellation.
std::unique_ptr<Scheduler> SchedulerFor(SchedulerKind kind, const std::string& cluster, const Environment& environment,
                                        std::stop_token stop = {});

}  // namespace hotplate::cli
