#include "server/environments/python_facts.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/array/quoted.h"
#include "server/workers/program_text.h"

namespace hotplate::server {
namespace {

constexpr int kLeastMinor = 9;  // of Python 3: hotplate_worker.py and hotplate_calls.py want it

// Any Python can read it, also one that is too old. The mark parts what it says from what a .pth file may print.
constexpr char kQuestion[] = R"(
import os, sys

def installed(name):
    try:
        from importlib.metadata import version
        return version(name)
    except Exception:
        return ""

def imported(name):
    try:
        return str(getattr(__import__(name), "__version__", "?")), ""
    except ImportError as error:
        if getattr(error, "name", None) == name:
            return "", ""
        return "", "%s cannot be imported: %s" % (name, error)
    except Exception as error:
        return "", "%s cannot be imported: %s: %s" % (name, type(error).__name__, error)

def answer():
    yield "%d.%d.%d" % tuple(sys.version_info[:3])
    if sys.version_info < (3, 9):
        return
    notes = []
    for name in ("numpy", "cloudpickle"):
        version = installed(name)
        if sys.argv[1] == "import":
            version, note = imported(name)
            notes += [note] if note else []
        yield version
    yield str(len(notes))
    for note in notes:
        yield " ".join(note.split())[:300]
    import sysconfig
    for folder in sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}):
        yield folder

said = "\0".join(answer())
os.write(1, ("\0hotplate: python\0" + said + "\0").encode("utf-8", "replace"))
)";
constexpr absl::string_view kAnswerMark("\0hotplate: python\0", 18);

absl::Status NoPython(const Program& python, const EndedProgram& ended) {
  const absl::Status how = ErrorOf(ended.end, "it", 0);
  const std::string said = LastLineOf(ended.err.empty() ? ended.out : ended.err);
  std::string why = how.ok() ? "it gave no answer to a Python program" : std::string(how.message());
  if (!said.empty()) absl::StrAppend(&why, " and said: ", said);
  return absl::InvalidArgumentError(absl::StrCat(python.file, " is no Python that runs: ", why));
}

absl::StatusOr<PythonFacts> FactsIn(const Program& python, absl::string_view said) {
  std::vector<std::string> words = absl::StrSplit(said, '\0');
  words.pop_back();                         // behind the last one
  if (words.empty()) words.emplace_back();  // it was cut off
  PythonFacts facts;
  facts.version = words[0];
  const std::vector<std::string> numbers = absl::StrSplit(facts.version, '.');
  int major = 0, minor = 0;
  if (numbers.size() < 2 || !absl::SimpleAtoi(numbers[0], &major) || !absl::SimpleAtoi(numbers[1], &minor) ||
      major != 3 || minor < kLeastMinor) {
    return absl::InvalidArgumentError(absl::StrCat(python.file, " is Python ", Shortened(facts.version), "; Python 3.",
                                                   kLeastMinor, " or later is needed"));
  }
  std::size_t notes = 0;
  if (words.size() < 4 || !absl::SimpleAtoi(words[3], &notes) || words.size() < 4 + notes) {
    return absl::InvalidArgumentError(absl::StrCat(python.file, " is no Python that runs: its answer was cut off"));
  }
  facts.numpy = words[1];
  facts.cloudpickle = words[2];
  const auto first = words.begin() + 4, behind = first + static_cast<std::ptrdiff_t>(notes);
  facts.notes.assign(first, behind);
  facts.folders.assign(behind, words.end());
  return facts;
}

}  // namespace

absl::StatusOr<PythonFacts> AskPython(Program python, Ask ask, const ProgramToEnd& run) {
  python.arguments = {python.file, "-c", kQuestion, ask == Ask::kImported ? "import" : "installed"};
  const absl::StatusOr<EndedProgram> ended = run(python);
  if (absl::IsFailedPrecondition(ended.status())) {  // it cannot be executed, and the message says so
    return absl::InvalidArgumentError(ended.status().message());
  }
  if (!ended.ok()) {
    return absl::Status(ended.status().code(),
                        absl::StrCat("it is not known what Python ", python.file, " is: ", ended.status().message()));
  }
  const absl::string_view out = ended->out;
  const std::size_t mark = out.rfind(kAnswerMark);
  if (mark == absl::string_view::npos) return NoPython(python, *ended);
  return FactsIn(python, out.substr(mark + kAnswerMark.size()));
}

}  // namespace hotplate::server
