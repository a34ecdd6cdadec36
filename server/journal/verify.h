// What `hotplate journal verify` finds: whether everything that the index promises is there, byte for byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/journal/index.h"

namespace hotplate::journal {

struct VerifyReport {
  std::uint64_t unfinished = 0, ended = 0;  // jobs; of ended ones those whose results are kept
  std::uint64_t files = 0, bytes = 0;       // that were read
  std::vector<std::string> problems;        // something that was acknowledged is lost or damaged
  std::vector<std::string> notes;           // what a killed daemon left, and what a power cut may take
  bool ok() const { return problems.empty(); }
};

// How to reach the index: Journal::With, or ReadCopy.
using WithIndex = absl::FunctionRef<absl::Status(absl::FunctionRef<absl::Status(Index&)>)>;

// Reads the index while it has it, and the files without it. `spool_root`: empty for none.
absl::StatusOr<VerifyReport> Verify(WithIndex with, const std::string& spool_root);

}  // namespace hotplate::journal
