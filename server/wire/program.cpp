#include "server/wire/program.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/run_program.h"
#include "kernels/base/status.h"
#include "server/wire/job_ref.h"
#include "server/wire/sweep.h"
#include "server/wire/values.h"

namespace hotplate::wire {
namespace {

// Linux's own limit is 2 MiB for both together, and 128 KiB for one.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kLongest = std::size_t{128} << 10;

bool IsText(const std::string& text) { return text.find('\0') == std::string::npos && text.size() < kLongest; }

void CheckTexts(const google::protobuf::RepeatedPtrField<std::string>& texts, const std::string& field,
                std::vector<FieldViolation>& violations) {
  for (int i = 0; i < texts.size(); ++i) {
    if (IsText(texts[i])) continue;
    violations.push_back({absl::StrCat(field, "[", i, "]"),
                          absl::StrCat(field, "[", i, "] has ", texts[i].size(), " bytes; it can have at most ",
                                       kLongest - 1, ", and no byte 0")});
  }
}

std::optional<std::string> ValueIn(const std::vector<std::string>& environment, const std::string& name) {
  std::optional<std::string> value;  // the last one counts
  for (const std::string& variable : environment) {
    if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=') {
      value = variable.substr(name.size() + 1);
    }
  }
  return value;
}

// PATH as the program in this folder understands it: "bin" and "." are folders of its own.
std::string PathFrom(const std::string& folder, const std::string& path) {
  std::string from;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string one = path.substr(begin, end - begin);
    absl::StrAppend(&from, from.empty() ? "" : ":", one.empty() || one[0] != '/' ? folder + "/" + one : one);
    begin = end + 1;
  }
  return from;
}

}  // namespace

std::string CanonicalBytes(const v1::Program& program) { return program.SerializeAsString(); }  // it has no maps

std::uint64_t PayloadHash(const journal::Sha256& digest) {
  std::uint64_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof(hash));
  return hash;
}

void ToProto(const server::OutputPiece& piece, v1::ProgramPiece& out) {
  if (piece.stream == server::OutputStream::kOut) {
    out.set_out(piece.text);
  } else {
    out.set_err(piece.text);
  }
}

server::OutputPiece FromProto(const v1::ProgramPiece& piece) {
  if (piece.has_err()) return {server::OutputStream::kErr, piece.err()};
  return {server::OutputStream::kOut, piece.out()};
}

absl::StatusOr<server::TerminalSize> FromProto(const v1::TerminalSize& size) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (size.rows() > kMost || size.columns() > kMost) {
    return InvalidField("terminal", absl::StrCat("terminal has ", size.rows(), " rows and ", size.columns(),
                                                 " columns; at most ", kMost, " are possible"));
  }
  return server::TerminalSize{static_cast<std::uint16_t>(size.rows()), static_cast<std::uint16_t>(size.columns())};
}

absl::StatusOr<ProgramRequest> FromProto(const v1::Program& program) {
  std::vector<FieldViolation> violations;
  if (program.arguments().empty() || program.arguments(0).empty()) {
    violations.push_back({"arguments", "arguments name no program"});
  }
  CheckTexts(program.arguments(), "arguments", violations);
  CheckTexts(program.environment(), "environment", violations);
  for (const std::string& variable : program.environment()) {
    const std::size_t name = variable.find('=');
    if (name != std::string::npos && name > 0) continue;
    violations.push_back(
        {"environment", absl::StrCat("environment has ", Quoted(variable.substr(0, 64)), ", which is not NAME=value")});
  }
  std::size_t bytes = 0;
  for (const auto* const texts : {&program.arguments(), &program.environment()}) {
    for (const std::string& text : *texts) bytes += text.size() + 1;
  }
  if (bytes > kMostBytes) {
    violations.push_back({"arguments", absl::StrCat("arguments and environment have ", bytes, " bytes; at most ",
                                                    kMostBytes, " are possible")});
  }
  if (program.folder().empty() || program.folder()[0] != '/' || !IsText(program.folder())) {
    violations.push_back({"folder", absl::StrCat("folder is ", Quoted(program.folder().substr(0, 256)),
                                                 "; it must be an absolute path")});
  }
  if (program.kind() != "" && program.kind() != "exec" && program.kind() != "python") {
    violations.push_back(
        {"kind", absl::StrCat("kind is ", Quoted(program.kind().substr(0, 64)), "; it can be exec or python")});
  }
  ProgramRequest request;
  if (program.has_time_limit()) {
    const absl::StatusOr<core::nanoseconds> limit = PositiveDuration(program.time_limit(), "time_limit");
    if (limit.ok()) request.job.time_limit = *limit;
    for (const FieldViolation& one : Violations(limit.status())) violations.push_back(one);
  }
  for (const auto& [text, field] : {std::pair(&program.label(), "label"), std::pair(&program.graph(), "graph"),
                                    std::pair(&program.node(), "node")}) {
    for (const FieldViolation& one : Violations(CheckLabel(*text, field))) violations.push_back(one);
  }
  absl::StatusOr<std::vector<core::JobRef>> after = FromProto(program.after());
  for (const FieldViolation& one : Violations(after.status())) violations.push_back(one);
  if (program.has_terminal()) {
    const absl::StatusOr<server::TerminalSize> size = FromProto(program.terminal());
    if (size.ok()) request.program.terminal = *size;
    for (const FieldViolation& one : Violations(size.status())) violations.push_back(one);
  }
  if (program.has_sweep()) {
    absl::StatusOr<std::shared_ptr<const core::SweepPlan>> sweep = SweepOf(program);
    for (const FieldViolation& one : Violations(sweep.status())) violations.push_back(one);
    if (sweep.ok()) request.job.sweep = *std::move(sweep);
  }
  if (!violations.empty()) return Refused(absl::StatusCode::kInvalidArgument, violations);

  request.program.arguments.assign(program.arguments().begin(), program.arguments().end());
  request.program.environment.assign(program.environment().begin(), program.environment().end());
  request.program.file = program.arguments(0);
  request.program.folder = program.folder();
  request.kind = program.kind() == "python" ? server::ProgramJob::Kind::kPython : server::ProgramJob::Kind::kExec;
  request.python_environment = program.python_environment();
  request.or_default_environment = program.or_default_environment() && program.kind() == "python";
  request.job.kernel = program.kind().empty() ? "exec" : program.kind();
  request.job.device = program.device();
  request.job.priority = program.priority();
  request.job.label = program.label();
  request.job.graph = program.graph();
  request.job.node = program.node();
  request.job.after = *std::move(after);
  request.job.request_id = program.request_id();
  request.job.forget_when_delivered = program.forget_when_delivered();
  request.job.may_rerun = !program.no_rerun();
  request.job.payload_hash = PayloadHash(journal::Sha256Of(CanonicalBytes(program)));
  return request;
}

absl::Status FindOnNode(server::Program& program, const std::string& node) {
  struct stat facts {};
  if (stat(program.folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
    return Refused(absl::StatusCode::kNotFound,
                   {{"folder", absl::StrCat("node ", node, " has no folder ", Quoted(program.folder),
                                            ": begin in one that it shares with this machine")}});
  }
  const std::string asked = program.arguments.front();
  std::optional<std::string> found;
  if (asked.find('/') == std::string::npos) {
    const std::string path =
        PathFrom(program.folder, ValueIn(program.environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
    found = FindProgram(
        asked, [&path](const std::string& name) { return name == "PATH" ? std::optional(path) : std::nullopt; });
  } else {
    const std::string path = asked[0] == '/' ? asked : program.folder + "/" + asked;
    if (stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && access(path.c_str(), X_OK) == 0) found = path;
  }
  if (!found) {
    return Refused(
        absl::StatusCode::kNotFound,
        {{"arguments", absl::StrCat("node ", node, " has no program ", Quoted(asked),
                                    asked.find('/') == std::string::npos ? " in PATH" : " that can be executed")}});
  }
  program.file = *std::move(found);
  return absl::OkStatus();
}

absl::StatusOr<int> SignalFromProto(int number) {
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT}) {
    if (number == one) return number;
  }
  return InvalidField(
      "signal",
      absl::StrCat("signal is ", number, "; it can be SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 or SIGCONT"));
}

}  // namespace hotplate::wire
