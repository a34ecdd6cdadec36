#include "server/service/outbox.h"

#include <algorithm>
#include <utility>

#include "server/service/programs.h"
#include "server/wire/status.h"
#include "server/wire/sweep.h"

namespace hotplate::server {
namespace {

constexpr std::size_t kMostUpdates = 1024;
constexpr std::size_t kMostInlineBytes = 1 << 20;
constexpr std::size_t kOverfullBytes = 8 << 20;
// Beside its texts and data.
constexpr std::size_t kUpdateBytes = 512;

}  // namespace

Outbox::Batch::Patient& Outbox::PatientOf(std::uint64_t tag, const core::JobId& id) {
  Batch::Patient& patient = patient_[tag];
  patient.id = id;
  return patient;
}

void Outbox::AddState(std::uint64_t tag, const core::JobId& id, const core::StateChange& event) {
  PatientOf(tag, id).states.push_back(event);
}

void Outbox::AddProgress(std::uint64_t tag, const core::JobId& id, const core::JobProgress& progress) {
  PatientOf(tag, id).progress = progress;
}

void Outbox::AddEnd(std::uint64_t tag, const core::JobId& id, std::string kernel, std::uint64_t sequence,
                    std::shared_ptr<const core::JobEnd> end) {
  if (states_before_end_ == StatesBeforeEnd::kDropped) {
    patient_.erase(tag);
  } else if (const auto found = patient_.find(tag); found != patient_.end()) {
    found->second.progress.reset();
  }
  Batch::Urgent urgent;
  urgent.tag = tag;
  urgent.id = id;
  urgent.kernel = std::move(kernel);
  urgent.sequence = sequence;
  urgent.end = std::move(end);
  AddUrgent(std::move(urgent));
}

void Outbox::AddPrinted(std::uint64_t tag, const core::JobId& id, OutputPiece piece) {
  Batch::Urgent urgent;
  urgent.tag = tag;
  urgent.id = id;
  urgent.printed = std::move(piece);
  AddUrgent(std::move(urgent));
}

void Outbox::AddRefusal(std::uint64_t tag, absl::Status status) {
  Batch::Urgent urgent;
  urgent.tag = tag;
  urgent.refusal = std::move(status);
  AddUrgent(std::move(urgent));
}

void Outbox::AddNotice(std::string text, std::optional<double> seconds_left) {
  Batch::Urgent urgent;
  urgent.notice = std::move(text);
  urgent.seconds_left = seconds_left;
  AddUrgent(std::move(urgent));
}

std::size_t Outbox::Batch::Urgent::bytes() const {
  return kUpdateBytes + (end ? wire::InlineBytes(*end) : 0) + notice.size() + (printed ? printed->text.size() : 0) +
         refusal.message().size();
}

void Outbox::AddUrgent(Batch::Urgent urgent) {
  urgent_bytes_ += urgent.bytes();
  urgent_.push_back(std::move(urgent));
}

bool Outbox::overfull() const { return urgent_bytes_ + patient_.size() * kUpdateBytes > kOverfullBytes; }

Outbox::Batch Outbox::Take() {
  Batch batch;
  while (!patient_.empty() && batch.patient_.size() < kMostUpdates) {
    auto first = patient_.extract(patient_.begin());
    batch.patient_.emplace_back(first.key(), std::move(first.mapped()));
  }
  // The rest can wait as before. A job's end must not overtake its states.
  if (!patient_.empty()) return batch;
  std::size_t bytes = 0;
  batch.urgent_.reserve(std::min(urgent_.size(), kMostUpdates));
  while (!urgent_.empty() && batch.urgent_.size() < kMostUpdates && bytes < kMostInlineBytes) {
    urgent_bytes_ -= urgent_.front().bytes();
    if (urgent_.front().end) bytes += wire::InlineBytes(*urgent_.front().end);
    if (urgent_.front().printed) bytes += urgent_.front().printed->text.size();
    batch.urgent_.push_back(std::move(urgent_.front()));
    urgent_.pop_front();
  }
  return batch;
}

void Outbox::Batch::FillInto(google::protobuf::RepeatedPtrField<v1::JobUpdate>& updates,
                             const wire::ReceiptFacts& facts) const {
  for (const auto& [tag, patient] : patient_) {
    for (const core::StateChange& event : patient.states) {
      v1::JobUpdate& update = *updates.Add();
      update.set_tag(tag);
      update.set_job_id(patient.id.value());
      update.set_sequence(event.sequence);
      wire::ToProto(event, *update.mutable_state_change());
    }
    if (patient.progress) {
      v1::JobUpdate& update = *updates.Add();
      update.set_tag(tag);
      update.set_job_id(patient.id.value());
      update.mutable_progress()->set_fraction(patient.progress->fraction);
      if (patient.progress->tasks) wire::ToProto(*patient.progress->tasks, *update.mutable_progress()->mutable_tasks());
    }
  }
  for (const Urgent& urgent : urgent_) {
    v1::JobUpdate& update = *updates.Add();
    update.set_tag(urgent.tag);
    update.set_job_id(urgent.id.value());
    update.set_sequence(urgent.sequence);
    if (urgent.end) {
      wire::ToProto(*urgent.end, urgent.id, urgent.kernel, facts, *update.mutable_end());
    } else if (!urgent.refusal.ok()) {
      *update.mutable_refused() = wire::ToJobError(urgent.refusal);
    } else if (urgent.printed) {
      wire::ToProto(*urgent.printed, *update.mutable_printed());
    } else {
      update.mutable_notice()->set_text(urgent.notice);
      if (urgent.seconds_left) update.mutable_notice()->set_seconds_left(*urgent.seconds_left);
    }
  }
}

}  // namespace hotplate::server
