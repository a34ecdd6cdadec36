// The unsent updates of one stream. Of progress only the newest value is kept. State changes of a job may be left out
// if its end comes before they are sent. Not thread-safe: guarded by its stream's mutex.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hotplate/v1/jobs.pb.h"
#include "server/wire/result.h"
#include "server/workers/program_streams.h"

namespace hotplate::server {

class Outbox {
 public:
  // Whether state changes of a job that are still unsent at its end are sent.
  enum class StatesBeforeEnd { kSent, kDropped };

  explicit Outbox(StatesBeforeEnd states_before_end) : states_before_end_(states_before_end) {}

  void AddState(std::uint64_t tag, const core::JobId& id, const core::StateChange& event);
  void AddProgress(std::uint64_t tag, const core::JobId& id, const core::JobProgress& progress);
  void AddEnd(std::uint64_t tag, const core::JobId& id, std::string kernel, std::uint64_t sequence,
              std::shared_ptr<const core::JobEnd> end);
  void AddPrinted(std::uint64_t tag, const core::JobId& id, OutputPiece piece);
  void AddRefusal(std::uint64_t tag, absl::Status status);
  void AddNotice(std::string text, std::optional<double> seconds_left);

  bool empty() const { return urgent_.empty() && patient_.empty(); }

  // Holds so much (roughly 8 MiB) that its writers should wait: the reader is slow, or does not read at all.
  bool overfull() const;

  // The content of one message: moved out under the lock, and converted to messages without it.
  class Batch {
   public:
    void FillInto(google::protobuf::RepeatedPtrField<v1::JobUpdate>& updates, const wire::ReceiptFacts& facts) const;

   private:
    friend class Outbox;
    struct Urgent {
      std::uint64_t tag = 0;
      core::JobId id;
      std::string kernel;
      std::uint64_t sequence = 0;
      std::shared_ptr<const core::JobEnd> end;  // set for an end
      absl::Status refusal;                     // not OK for a refusal
      std::string notice;
      std::optional<OutputPiece> printed;
      std::optional<double> seconds_left;

      std::size_t bytes() const;  // that it holds here and takes in a message, roughly
    };
    struct Patient {
      core::JobId id;
      std::vector<core::StateChange> states;
      std::optional<core::JobProgress> progress;
    };
    std::vector<std::pair<std::uint64_t, Patient>> patient_;
    std::vector<Urgent> urgent_;
  };
  // At most about a MiB.
  Batch Take();

 private:
  Batch::Patient& PatientOf(std::uint64_t tag, const core::JobId& id);

  const StatesBeforeEnd states_before_end_;
  void AddUrgent(Batch::Urgent urgent);

  std::deque<Batch::Urgent> urgent_;
  std::size_t urgent_bytes_ = 0;
  std::map<std::uint64_t, Batch::Patient> patient_;  // by tag
};

}  // namespace hotplate::server
