// Everything in a journal as JSON lines, for people's own scripts: daemons, ended and unfinished jobs, sums.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/journal/recovery.h"
#include "server/journal/verify.h"

namespace hotplate::journal {

struct ExportOptions {
  // Opaque bytes as a JSON value; without it they come in base64.
  std::function<std::string(std::string_view)> request_json = {}, end_json = {};
  JobQuery jobs = {};  // which ended ones; its limit is for all of them, 0: none
};

// Calls `line` with each, without its end, on the caller's thread. False ends it. The index is held for a page at a
// time, so that a daemon goes on meanwhile.
absl::Status Export(WithIndex with, const ExportOptions& options,
                    absl::FunctionRef<bool(const std::string& line)> line);

// One job, as in the export.
std::string JobJson(const KeptJob& job, const ExportOptions& options);

}  // namespace hotplate::journal
