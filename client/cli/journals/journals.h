// The journals that daemons leave in HOTPLATE_DIR, read without a daemon.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "google/protobuf/timestamp.pb.h"
#include "server/journal/places.h"
#include "server/journal/records.h"

namespace hotplate::cli {

// Journals of which some may not be readable, while the others are.
class Unread {
 public:
  explicit Unread(Console& console) : console_(console) {}
  // `read`: the result of reading it. NOT_FOUND (it is gone by now) is told at once, and is no failure.
  void Add(const journal::Place& place, const absl::Status& read);
  // The failures, with the journals' names. The program exits with 1.
  absl::Status status() const;

 private:
  Console& console_;
  std::vector<std::string> failures_;
};

// The journals of daemon `name`, or (empty) of all; none if there is none. Tells of what lies among them and is none.
// NOT_FOUND for a name without a journal, with the names that have one. PERMISSION_DENIED: others could have put
// something there.
absl::StatusOr<std::vector<journal::Place>> FindJournals(const Invocation& call, const std::string& name);
// The name in the words of a command, or in --server; empty: all. The setting alone, of HOTPLATE_SERVER, does not
// count.
std::string NamedJournal(const Arguments& arguments, std::size_t word);

google::protobuf::Timestamp ToTimestamp(journal::WallTime time);
// "2026-11-27 02:12:22", local.
std::string DateText(journal::WallTime time);

}  // namespace hotplate::cli
