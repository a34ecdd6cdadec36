// What an interpreter says of itself.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/environments/module_load.h"

namespace hotplate::server {

struct PythonFacts {
  std::string version;               // "3.11.2"
  std::string numpy, cloudpickle;    // empty: it has none
  std::vector<std::string> notes;    // for people
  std::vector<std::string> folders;  // where packages are installed
};

enum class Ask {
  kInstalled,  // which versions are installed: a few hundredths of a second
  kImported,   // and whether they can be imported
};

// `python`: an interpreter with its variables and folder; its arguments do not count. INVALID_ARGUMENT: it is no
// Python that runs, or one before 3.9.
absl::StatusOr<PythonFacts> AskPython(Program python, Ask ask, const ProgramToEnd& run);

}  // namespace hotplate::server
