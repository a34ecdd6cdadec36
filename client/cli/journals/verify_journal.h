// Whether everything that a journal promises is there.
#pragma once

#include "absl/status/statusor.h"
#include "client/cli/journals/journals.h"
#include "server/journal/verify.h"

namespace hotplate::cli {

// Reads the index, and every file that it knows, of a living daemon's journal too. NOT_FOUND: there is none any more.
absl::StatusOr<journal::VerifyReport> VerifyJournal(const Settings& settings, const journal::Place& place);

}  // namespace hotplate::cli
