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
  // Opaque bytes of a job of that kernel as a JSON value; without it they come in base64.
  using ToJson = std::function<std::string(const std::string& kernel, std::string_view bytes)>;
  ToJson request_json = {}, end_json = {};
  JobQuery jobs = {};  // which ended ones; its limit is for all of them, 0: none
};

// Calls `line` with each, without its end, on the caller's thread. False ends it. The index is held for a page at a
// time, so that a daemon goes on meanwhile.
absl::Status Export(WithIndex with, const ExportOptions& options,
                    absl::FunctionRef<bool(const std::string& line)> line);

// One job, as in the export.
std::string JobJson(const KeptJob& job, const ExportOptions& options);

}  // namespace hotplate::journal
