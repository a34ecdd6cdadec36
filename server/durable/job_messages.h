// What the journal keeps of jobs, as bytes: requests and ends are messages of the wire, which any later daemon reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hotplate/v1/jobs.pb.h"
#include "server/core/jobs/job.h"
#include "server/core/jobs/job_event.h"
#include "server/core/jobs/restored_job.h"
#include "server/journal/records.h"
#include "server/journal/recovery.h"
#include "server/wire/result.h"
#include "server/workers/printing_work.h"

namespace hotplate::server {

// `request`: the bytes of the job's spec; `inputs`: those of its inputs that are in the spool.
journal::JobAccepted AcceptedRecord(const core::Job& job, const std::string& kernel, std::string request);
// The end without the data of its outputs. Data of outputs that came inline go into `outputs`.
struct EndMessage {
  std::string end, outputs;
};
EndMessage EndAsMessage(const core::Job& job, const core::JobEnd& end, const wire::ReceiptFacts& facts);
// The same without any data of outputs, which are not even copied.
std::string EndWithoutData(const core::Job& job, const core::JobEnd& end, const wire::ReceiptFacts& facts);
// A v1.KeptOutput.
std::string PrintedAsMessage(const ProgramStreams& streams);
// One of its streams, for people to read in a file.
std::string PrintedAsText(const ProgramStreams& streams, OutputStream stream);
// Null: the job is a kernel's.
const PrintingWork* ProgramOf(const core::Job& job);
// Reads back what the program printed. DATA_LOSS: it is damaged.
absl::StatusOr<ProgramStreams::Everything> PrintedFrom(const journal::KeptJob& kept);
// A program that has ended, of which this can be read.
std::shared_ptr<core::OutsideWork> PastProgramOf(const journal::KeptJob& kept, ProgramStreams::Everything printed);
// Empty without a receipt.
std::string ReceiptAsJson(const core::Job& job, const core::JobEnd& end, const wire::ReceiptFacts& facts);
journal::JobUse UseOf(const core::JobEnd& end, const wire::ReceiptFacts& facts);

// All that is kept of an ended program's request, which has its environment: its graph, and the jobs that it came
// after.
std::string PlaceOf(const core::Job& job);

// What the journal kept of a job, as the engine takes it back; of one that is to run, without its request.
core::RestoredJob RestoredFrom(const journal::KeptJob& kept);
// Its end. Outputs that are in files alone, or all that are (null), are marked as stored. DATA_LOSS: this is no message
// of an end.
absl::StatusOr<core::JobEnd> EndFrom(const journal::KeptJob& kept, core::ArrayStore* arrays);

}  // namespace hotplate::server
