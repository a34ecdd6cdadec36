// hotplate token: other people who may use the daemon, each within bounds.
#include <algorithm>
#include <filesystem>
#include <limits>

#include "client/cli/allocation/text.h"
#include "client/cli/commands.h"
#include "client/cli/sites/words.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"
#include "kernels/base/run_program.h"

namespace hotplate::cli {
namespace {

constexpr const char* kForCreate[] = {"for",     "scope",     "expires", "quota-bytes", "max-jobs",
                                      "devices", "path-root", "output",  "reader"};

std::string ScopeWord(v1::TokenScope scope) {
  switch (scope) {
    case v1::TOKEN_SCOPE_OBSERVE:
      return "observe";
    case v1::TOKEN_SCOPE_SUBMIT:
      return "submit";
    case v1::TOKEN_SCOPE_CODE:
      return "code";
    case v1::TOKEN_SCOPE_ADMIN:
      return "admin";
    default:
      return v1::TokenScope_Name(scope).empty() ? std::to_string(scope) : v1::TokenScope_Name(scope);
  }
}

bool IsShell(v1::TokenScope scope) { return scope == v1::TOKEN_SCOPE_CODE || scope == v1::TOKEN_SCOPE_ADMIN; }

std::string TokenState(const v1::Token& token) {
  if (!token.has_end_time()) return "living";
  const bool in_time = token.has_expire_time() && token.end_time().seconds() >= token.expire_time().seconds();
  return in_time ? "expired" : "revoked";
}

std::string DevicesOf(const v1::TokenLimits& limits) {
  return limits.devices().empty() ? "all" : Printable(Join({limits.devices().begin(), limits.devices().end()}, ","));
}

std::string OfAtMost(const std::string& used, bool bounded, const std::string& bound) {
  return bounded ? used + " of " + bound : used;
}

std::vector<std::string> TokenRow(const v1::Token& token) {
  const v1::TokenLimits& limits = token.limits();
  const bool lives = !token.has_end_time();
  return {
      Printable(token.name()),
      ScopeWord(token.scope()),
      TokenState(token),
      token.has_expire_time() ? TimeText(token.expire_time().seconds()) : "-",
      lives ? OfAtMost(std::to_string(token.jobs()), limits.jobs() > 0, std::to_string(limits.jobs())) : "-",
      lives ? OfAtMost(BytesText(token.array_bytes()), limits.array_bytes() > 0, BytesText(limits.array_bytes())) : "-",
      DevicesOf(limits),
      lives ? Printable(token.record_file()) : "-"};
}

std::string TokensText(const v1::ListTokensResponse& list, int width) {
  if (list.tokens().empty()) {
    return Fitted("no guest has a token: hotplate token create --for NAME --scope submit -o FILE\n", width);
  }
  std::vector<const v1::Token*> tokens;
  for (const v1::Token& token : list.tokens()) tokens.push_back(&token);
  std::stable_partition(tokens.begin(), tokens.end(), [](const v1::Token* token) { return !token->has_end_time(); });
  Table table({"NAME", "SCOPE", "STATE", "EXPIRES", "JOBS", "ARRAYS", "DEVICES", "RECORD"});
  table.AlignRight(4).AlignRight(5).MayBeCut(7, 20).MayBeCut(6);
  for (const v1::Token* token : tokens) table.Row(TokenRow(*token));
  return table.Text(width);
}

// "submit, until 18:00, at most 4 jobs and 2.0 GB of arrays, on gpu0"
std::string GrantText(const v1::Token& token) {
  const v1::TokenLimits& limits = token.limits();
  std::string text = ScopeWord(token.scope()) + (IsShell(token.scope()) ? ", a shell on your account" : "");
  if (token.has_expire_time()) text += ", until " + TimeText(token.expire_time().seconds());
  std::vector<std::string> most;
  if (limits.jobs() > 0) most.push_back(std::to_string(limits.jobs()) + (limits.jobs() == 1 ? " job" : " jobs"));
  if (limits.array_bytes() > 0) most.push_back(BytesText(limits.array_bytes()) + " of arrays");
  if (!most.empty()) text += ", at most " + Join(most, " and ");
  if (!limits.devices().empty()) text += ", on " + DevicesOf(limits);
  if (!limits.path_root().empty()) text += ", reads files in " + Printable(limits.path_root());
  return text;
}

absl::StatusOr<std::string> MadeAbsolute(const std::string& option, const std::string& path) {
  if (path.empty()) return UsageError("--" + option + ": its path is empty");
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return absl::InvalidArgumentError("--" + option + ": " + path + ": " + error.message());
  return absolute.lexically_normal().string();
}

absl::StatusOr<v1::TokenScope> ScopeNamed(const std::optional<std::string>& word) {
  if (!word) return UsageError("token create: --scope is missing: observe or submit, or code or admin");
  if (*word == "observe") return v1::TOKEN_SCOPE_OBSERVE;
  if (*word == "submit") return v1::TOKEN_SCOPE_SUBMIT;
  if (*word == "code") return v1::TOKEN_SCOPE_CODE;
  if (*word == "admin") return v1::TOKEN_SCOPE_ADMIN;
  return UsageError("--scope: " + Quoted(*word) + " is not a scope; give observe, submit, code or admin");
}

absl::StatusOr<v1::TokenScope> ScopeAsked(const Arguments& arguments) {
  const auto scope = ScopeNamed(arguments.Text("scope"));
  if (!scope.ok() || IsShell(*scope) == arguments.Flag("full-account")) return scope;
  if (!IsShell(*scope)) return UsageError("--full-account is for --scope code and admin alone");
  return UsageError(
      "--scope " + ScopeWord(*scope) +
      ": code runs with all rights of your account, so the token is a shell on it, and its bounds are bounds "
      "against mistakes alone; if you mean that, add --full-account, else give observe or submit");
}

absl::Status AddLimits(const Arguments& arguments, v1::TokenLimits& limits) {
  const auto jobs = arguments.Integer("max-jobs", 1, std::numeric_limits<std::uint32_t>::max());
  if (!jobs.ok()) return jobs.status();
  if (*jobs) limits.set_jobs(static_cast<std::uint32_t>(**jobs));
  if (const auto text = arguments.Text("quota-bytes")) {
    const auto bytes = ParseBytes(*text);
    if (!bytes || *bytes == 0) {
      return UsageError("--quota-bytes: " + Quoted(*text) + " is not a size above 0, such as 2GB or 512MiB");
    }
    limits.set_array_bytes(*bytes);
  }
  for (const std::string& device : SplitAt(arguments.All("devices"), ',')) {
    if (device.empty()) return UsageError("--devices: a device's name is empty; give some such as gpu0,gpu1");
    limits.add_devices(device);
  }
  if (const auto folder = arguments.Text("path-root")) {
    const auto path = MadeAbsolute("path-root", *folder);
    if (!path.ok()) return path.status();
    limits.set_path_root(*path);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Token> TokenAsked(const Arguments& arguments) {
  v1::Token token;
  const auto name = arguments.Text("for");
  if (!name || name->empty()) return UsageError("token create: --for NAME is missing: whom the token is for");
  token.set_name(*name);
  const auto scope = ScopeAsked(arguments);
  if (!scope.ok()) return scope.status();
  token.set_scope(*scope);
  const auto file = arguments.Text("output");
  if (!file) return UsageError("token create: -o FILE is missing: where the daemon writes the guest's record");
  const auto path = MadeAbsolute("output", *file);
  if (!path.ok()) return path.status();
  token.set_record_file(*path);
  if (const absl::Status status = AddLimits(arguments, *token.mutable_limits()); !status.ok()) return status;
  return token;
}

// By the daemon's clock, which decides.
absl::Status AddExpiry(client::Client& client, std::optional<nanoseconds> expires, v1::Token& token) {
  if (!expires) return absl::OkStatus();
  const auto info = client.Info();
  if (!info.ok()) return info.status();
  const google::protobuf::Timestamp now = NowOf(*info);
  token.mutable_expire_time()->set_seconds(now.seconds() + std::chrono::ceil<std::chrono::seconds>(*expires).count());
  token.mutable_expire_time()->set_nanos(now.nanos());
  return absl::OkStatus();
}

// The path is one of this machine; the daemon may have another view of it.
absl::Status WhereItIsWritten(const absl::Status& status, const v1::Token& token, const v1::EndpointRecord& daemon) {
  for (const v1::FieldViolation& violation : client::Violations(status))
    if (violation.field().ends_with("record_file")) {
      return WithNextStep(status, "the daemon writes " + token.record_file() + " on its node, " +
                                      daemon.endpoints(0).node() +
                                      ": choose a folder that is there too, and that you may write to");
    }
  return status;
}

absl::Status CheckReader(const std::optional<std::string>& reader) {
  if (!reader || (!reader->empty() && reader->find_first_of(":, \t\n") == std::string::npos)) return absl::OkStatus();
  return UsageError("--reader: " + Quoted(*reader) + " is not the name of one user");
}

absl::Status LetRead(const Invocation& call, const std::string& reader, const v1::Token& token) {
  const auto ran =
      RunProgram({.words = {"setfacl", "-m", "u:" + reader + ":r", token.record_file()}}, call.environment);
  if (ran.ok() && ran->exit_code == 0) return absl::OkStatus();
  std::string why;
  if (absl::IsNotFound(ran.status())) {
    why = "setfacl is not installed on this machine";
  } else if (!ran.ok()) {
    why = std::string(ran.status().message());
  } else {
    why = ran->err.substr(0, ran->err.find('\n'));
    if (why.empty()) why = "setfacl ended with exit code " + std::to_string(ran->exit_code);
  }
  return WithNextStep(
      WithExitCode(absl::FailedPreconditionError("token " + token.name() + " exists, and its record is " +
                                                 token.record_file() + " on " + call.connected.endpoints(0).node() +
                                                 ", but " + reader + " cannot read it: " + why),
                   kExitFailed),
      "let " + reader + " read it in another way, or take the token back: hotplate token revoke " + token.name());
}

absl::Status TokenCreate(const Invocation& call) {
  auto token = TokenAsked(call.arguments);
  if (!token.ok()) return token.status();
  const auto expires = call.arguments.Duration("expires");
  if (!expires.ok()) return expires.status();
  if (*expires && **expires <= nanoseconds(0)) return UsageError("--expires: it must be more than 0");
  const auto reader = call.arguments.Text("reader");
  if (const absl::Status status = CheckReader(reader); !status.ok()) return status;
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  v1::CreateTokenRequest request;
  if (const absl::Status status = AddExpiry(*client, *expires, *token); !status.ok()) return status;
  *request.mutable_token() = *token;
  request.set_full_account(call.arguments.Flag("full-account"));
  const auto created = client->CreateToken(request);
  if (!created.ok()) return WhereItIsWritten(created.status(), *token, client->record());
  const v1::Token& made = created->token();
  if (reader) {
    if (const absl::Status status = LetRead(call, *reader, made); !status.ok()) return status;
  }
  call.output.Answer(
      [&] {
        const std::string file = Printable(made.record_file()), word = Printable(ShellQuoted(made.record_file()));
        return Fitted(Done(call.console, "token " + made.name() + ": " + GrantText(made)) + "\n  record " + file +
                          (reader ? ", which " + *reader + " can read"
                                  : "\n  if the guest is another user of this machine: setfacl -m u:USER:r " + word) +
                          "\n  then, on the guest's side: hotplate join " + word,
                      WidthOf(call.console));
      },
      [&] { return ToJson(*created); }, made.record_file());
  return absl::OkStatus();
}

absl::Status TokenList(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto list = client->ListTokens();
  if (!list.ok()) return list.status();
  std::string names;
  for (const v1::Token& token : list->tokens())
    if (!token.has_end_time()) names += token.name() + "\n";
  call.output.Answer([&] { return TokensText(*list, WidthOf(call.console)); }, [&] { return ToJson(*list); }, names);
  return absl::OkStatus();
}

absl::Status TokenRevoke(const Invocation& call, const std::string& name) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto revoked = client->RevokeToken(name);
  if (!revoked.ok()) return revoked.status();
  const std::uint32_t jobs = revoked->cancelled_jobs();
  call.output.Answer(
      [&] {
        return Done(call.console, "token " + name + " revoked: its calls are refused" +
                                      (jobs == 0 ? "" : ", " + std::to_string(jobs) + " of its jobs cancelled"));
      },
      [&] { return ToJson(*revoked); }, "");
  return absl::OkStatus();
}

absl::Status Tokens(const Invocation& call) {
  const std::vector<std::string>& words = call.arguments.words();
  const std::string action = words.empty() ? "list" : words[0];
  if (action != "create" && action != "list" && action != "revoke")
    return UsageError("token " + action + ": give create, list or revoke NAME");
  if (action != "create") {
    if (call.arguments.Flag("full-account"))
      return UsageError("--full-account is for token create, not for token " + action);
    for (const char* option : kForCreate)
      if (!call.arguments.All(option).empty())
        return UsageError("--" + std::string(option) + " is for token create, not for token " + action);
  }
  if (action == "revoke")
    return words.size() < 2 ? UsageError("token revoke: NAME is missing: the guest's") : TokenRevoke(call, words[1]);
  if (words.size() > 1) {
    return UsageError("token " + action + ": " + Quoted(words[1]) + " is one word too many" +
                      (action == "create" ? "; the guest's name is the value of --for" : ""));
  }
  return action == "create" ? TokenCreate(call) : TokenList(call);
}

}  // namespace

Command TokenCommand() {
  return {
      .name = "token",
      .group = Group::kDaemon,
      .summary = "let other people use the daemon, each within bounds",
      .details =
          "token create makes a token for a guest, and the daemon writes the guest's endpoint record to FILE, on its\n"
          "node. Anybody who can read FILE is that guest: hotplate join FILE. Scope observe: see devices and "
          "telemetry.\n"
          "Scope submit: also run kernels and expressions, and keep arrays. Scopes code (also programs and functions)\n"
          "and admin (also what is yours) are a shell on your account, and need --full-account. Guests see their own\n"
          "jobs and arrays alone; you see all of theirs, as one of scope admin does. Their jobs run in your name.\n"
          "Tokens outlive the daemon: the next one of its name takes them over, and writes their records anew.\n"
          "token revoke ends a token, cancels its jobs and removes its record. More: hotplate help guests.",
      .example = "hotplate token create --for ana --scope submit --expires 2h --max-jobs 4 -o /shared/course/ana.json",
      .positionals = {{.name = "ACTION",
                       .help = "create, list (the default) or revoke",
                       .minimum = 0,
                       .offer = Offer::kChoices,
                       .choices = {"create", "list", "revoke"}},
                      {.name = "NAME", .help = "with revoke: the guest's name", .minimum = 0, .offer = Offer::kToken}},
      .options = {{.names = "--for", .value = "NAME", .help = "the guest's name, of your choice"},
                  {.names = "--scope",
                   .value = "SCOPE",
                   .help = "what the guest may do: observe or submit; with --full-account code or admin",
                   .offer = Offer::kChoices,
                   .choices = {"observe", "submit", "code", "admin"}},
                  {.names = "--full-account",
                   .value = "",
                   .help = "with --scope code or admin: yes, the guest may do all that you can"},
                  {.names = "-o,--output",
                   .value = "FILE",
                   .help = "where the daemon writes the guest's record, on its node",
                   .offer = Offer::kFile},
                  {.names = "--reader",
                   .value = "USER",
                   .help = "let this user of the machine read FILE (setfacl -m u:USER:r FILE)"},
                  {.names = "--expires", .value = "TIME", .help = "how long the token lives (default: until revoked)"},
                  {.names = "--quota-bytes", .value = "SIZE", .help = "bytes of its arrays at a time, such as 2GB"},
                  {.names = "--max-jobs", .value = "N", .help = "waiting and running jobs at a time"},
                  {.names = "--devices",
                   .value = "LIST",
                   .help = "devices that its jobs may run on, such as gpu0,gpu1 (default: all); repeatable",
                   .repeatable = true},
                  {.names = "--path-root",
                   .value = "DIR",
                   .help = "a folder below which its jobs may read .npy files by path (default: none)",
                   .offer = Offer::kFile}},
      .run = Tokens};
}

}  // namespace hotplate::cli
