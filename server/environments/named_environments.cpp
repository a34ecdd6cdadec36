#include "server/environments/named_environments.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/module_name.h"
#include "kernels/base/run_program.h"
#include "kernels/base/status.h"
#include "server/workers/warm_pythons.h"

namespace hotplate::server {
namespace {

constexpr std::size_t kMostModules = 64;
constexpr char kPython[] = "python3";

std::vector<std::string> TextsOf(const VariableMap& variables) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  return texts;
}

absl::Status CheckModules(const std::vector<std::string>& modules) {
  if (modules.size() > kMostModules) {
    return InvalidField(
        "modules", absl::StrCat("modules has ", modules.size(), " names; at most ", kMostModules, " are possible"));
  }
  for (const std::string& module : modules) {
    if (!IsModuleName(module)) {
      return InvalidField("modules", absl::StrCat("modules has ", Quoted(module), "; it must be ", kModuleNameRule));
    }
  }
  return absl::OkStatus();
}

absl::Status Taken(const std::string& name) {
  return absl::AlreadyExistsError(absl::StrCat("there is an environment ", Quoted(name), " already (hotplate env show ",
                                               name, "); --force replaces it"));
}

// As if the environment had been activated: what the interpreter starts finds the environment's programs first.
void Activate(const std::string& python, VariableMap& variables) {
  const std::filesystem::path bin = std::filesystem::path(python).parent_path(), prefix = bin.parent_path();
  std::error_code error;
  const bool virtual_environment = std::filesystem::exists(prefix / "pyvenv.cfg", error);
  const bool conda = !virtual_environment && std::filesystem::exists(prefix / "conda-meta", error);
  // Of the caller's interpreter.
  for (const char* const name : {"PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"})
    variables.erase(name);
  if (virtual_environment) variables["VIRTUAL_ENV"] = prefix.string();
  if (conda) variables["CONDA_PREFIX"] = prefix.string();
  if (!virtual_environment && !conda) return;
  std::string& path = variables["PATH"];
  path = path.empty() ? bin.string() : bin.string() + ":" + path;
}

// Changes when a package is installed or removed, or the interpreter is another one.
std::string MarksOf(const std::string& python, const std::vector<std::string>& folders) {
  std::vector<std::string> paths = folders;
  paths.push_back(python);
  std::string marks;
  for (const std::string& path : paths) {
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0) facts = {};
    absl::StrAppend(&marks, facts.st_ino, ".", facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec, " ");
  }
  return marks;
}

}  // namespace

NamedEnvironments::NamedEnvironments(Supervisor& supervisor, const std::string& directory,
                                     const std::vector<std::string>& own, std::string node)
    : supervisor_(supervisor), files_(directory), own_variables_(MapOf(own)), node_(std::move(node)) {}

ProgramToEnd NamedEnvironments::Runner(const GiveUp& give_up) const {
  return [this, give_up](const Program& program) { return RunToEnd(supervisor_, program, kPatience, give_up); };
}

absl::StatusOr<v1::AddEnvironmentResponse> NamedEnvironments::Add(const v1::AddEnvironmentRequest& request,
                                                                  const GiveUp& give_up) {
  const std::string& name = request.name();
  if (absl::Status status = CheckEnvironmentName(name); !status.ok()) return status;
  if (name == kOwnEnvironment) {
    return InvalidField("name", absl::StrCat("name is ", Quoted(name),
                                             ", which is the daemon's own environment: it is "
                                             "given when the daemon starts (hotplate up --python PATH)"));
  }
  if (files_.Has(name) && !request.replace()) return Taken(name);
  absl::StatusOr<v1::EnvironmentFile> made =
      Made(name, request.python(), {request.modules().begin(), request.modules().end()}, give_up);
  if (!made.ok()) return made.status();
  absl::StatusOr<bool> there;
  {
    MutexLock lock(writing_);
    there = Keep(*made, request.replace());
  }
  if (!there.ok()) return there.status();
  v1::AddEnvironmentResponse response;
  *response.mutable_environment() = std::move(*made->mutable_environment());
  for (std::string& variable : NamesIn(made->changes())) {
    response.mutable_environment()->add_variables(std::move(variable));
  }
  response.set_replaced(*there);
  return response;
}

absl::StatusOr<bool> NamedEnvironments::Keep(const v1::EnvironmentFile& file, bool replace) const {
  const std::string& name = file.environment().name();
  const bool there = files_.Has(name);
  if (there && !replace) return Taken(name);  // by somebody else, while this one was made
  if (absl::Status status = files_.Write(file); !status.ok()) return status;
  return there;
}

std::vector<v1::PythonEnvironment> NamedEnvironments::List() const {
  std::vector<v1::PythonEnvironment> environments = files_.List();
  if (!own_) return environments;
  v1::PythonEnvironment own = own_->environment();
  for (std::string& variable : NamesIn(own_->changes())) own.add_variables(std::move(variable));
  environments.insert(environments.begin(), std::move(own));
  return environments;
}

absl::Status NamedEnvironments::SetOwn(const std::string& python, const std::vector<std::string>& modules) {
  absl::StatusOr<v1::EnvironmentFile> made = Made(kOwnEnvironment, python, modules, [] { return false; });
  if (!made.ok()) return made.status();
  own_ = *std::move(made);
  return absl::OkStatus();
}

absl::StatusOr<v1::EnvironmentFile> NamedEnvironments::Made(const std::string& name, const std::string& python,
                                                            const std::vector<std::string>& modules,
                                                            const GiveUp& give_up) const {
  if (absl::Status status = CheckModules(modules); !status.ok()) return status;
  v1::EnvironmentFile file;
  VariableMap variables = own_variables_;
  if (!modules.empty()) {
    absl::StatusOr<LoadedModules> loaded = LoadModules(modules, own_variables_, Runner(give_up));
    if (!loaded.ok()) return loaded.status();
    *file.mutable_changes() = std::move(loaded->changes);
    variables = std::move(loaded->variables);
  }
  absl::StatusOr<std::string> found = FindInterpreter(python.empty() ? kPython : python, variables);
  if (!found.ok()) return found.status();
  Activate(*found, variables);
  Program program;
  program.file = *found;
  program.folder = "/";
  program.environment = TextsOf(variables);
  absl::StatusOr<PythonFacts> facts = AskPython(std::move(program), Ask::kImported, Runner(give_up));
  if (!facts.ok()) return facts.status();
  v1::PythonEnvironment& environment = *file.mutable_environment();
  environment.set_name(name);
  environment.set_python(*found);
  environment.set_python_version(facts->version);
  environment.set_numpy(facts->numpy);
  environment.set_cloudpickle(facts->cloudpickle);
  for (const std::string& module : modules) environment.add_modules(module);
  for (const std::string& note : facts->notes) environment.add_notes(note);
  return file;
}

absl::StatusOr<std::string> NamedEnvironments::FindInterpreter(const std::string& python,
                                                               const VariableMap& variables) const {
  const bool is_path = python.find('/') != std::string::npos;
  if (python.find('\0') != std::string::npos || (is_path && python[0] != '/')) {
    return InvalidField("python", absl::StrCat("python is ", Quoted(python),
                                               "; it must be an absolute path on the node, or a program in its PATH"));
  }
  const std::optional<std::string> found = FindProgram(python, [&](const std::string& name) {
    const auto variable = variables.find(name);
    return variable == variables.end() ? std::nullopt : std::optional(variable->second);
  });
  if (found) return *found;
  std::error_code error;
  const bool exists = is_path && std::filesystem::exists(python, error);
  return Refused(
      absl::StatusCode::kNotFound,
      {{"python", absl::StrCat("node ", node_, is_path ? " has no interpreter " : " has no program ", Quoted(python),
                               exists    ? " that can be executed"
                               : is_path ? ""
                                         : " in PATH")}});
}

absl::StatusOr<std::string> NamedEnvironments::PutInto(Program& program, const std::string& name, bool or_own) const {
  v1::EnvironmentFile file;
  if (name == kOwnEnvironment || name.empty()) {
    if (name.empty() && !(or_own && own_)) return std::string();
    if (!own_) {
      return Refused(
          absl::StatusCode::kNotFound,
          {{"python_environment", "this daemon has no environment of its own: it was started without --python"}});
    }
    file = *own_;
  } else {
    absl::StatusOr<v1::EnvironmentFile> read = files_.Read(name);
    if (!read.ok()) return read.status();
    file = *std::move(read);
  }
  VariableMap variables = MapOf(program.environment);
  Apply(file.changes(), variables);
  Activate(file.environment().python(), variables);
  program.environment = TextsOf(variables);
  program.named_environment = file.environment().name();
  return file.environment().python();
}

absl::StatusOr<PythonFacts> NamedEnvironments::FactsOf(const Program& program, const GiveUp& give_up) {
  const std::string key = program.file + WarmKeyOf(program).text;
  std::optional<Asked> known;
  {
    MutexLock lock(mutex_);
    if (const auto found = asked_.find(key); found != asked_.end()) known = found->second;
  }
  if (known && known->marks == MarksOf(program.file, known->facts.folders)) return known->facts;
  absl::StatusOr<PythonFacts> facts = AskPython(program, Ask::kInstalled, Runner(give_up));
  if (!facts.ok()) return facts.status();
  const std::string marks = MarksOf(program.file, facts->folders);
  MutexLock lock(mutex_);
  if (asked_.size() >= kMostAsked) asked_.clear();  // to be asked again is cheap
  asked_[key] = {*facts, marks};
  return facts;
}

}  // namespace hotplate::server
