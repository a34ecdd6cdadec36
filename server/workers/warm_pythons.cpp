#include "server/workers/warm_pythons.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/array/quoted.h"
#include "server/workers/descriptor_message.h"

namespace hotplate::server {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostSaid = 8192;
constexpr int kEndedForModule = 3;  // the exit code of hotplate_worker.py

std::string LastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

// One warm Python.
struct WarmPythons::Zygote {
  RunningProgram running;
  Descriptor channel;
  std::string said;    // on its standard streams: why it ended
  std::string trying;  // the module that it is about to import
  std::string version;
  std::vector<std::pair<std::string, std::string>> imported;  // with their versions
};

struct WarmPythons::Environment {
  Program script;  // one that ran in it
  std::vector<std::string> modules = {
      "numpy", "cloudpickle"};  // to import, where they are; more when scripts have asked for them
  std::map<std::string, std::string> left_out;
  std::unique_ptr<Zygote> serving, next;
  bool wanted = false;   // a next one is to be started, when there is none
  bool had_one = false;  // that was ready
  int failures = 0;      // in a row
  std::string why;       // the last of them
  std::uint64_t scripts = 0;
  Steady::time_point last_used = Steady::now();
};

absl::StatusOr<WarmPythons::Files> WarmPythons::FilesOfThisProgram() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  // From bin; and in a bundle from libexec/hotplate, where the loader is that runs this program.
  fs::path share = folder.parent_path() / "share/hotplate";
  if (!fs::exists(share, error)) share = folder.parent_path().parent_path() / "share/hotplate";
  const Files files{folder / "hotplate-keeper", share / "hotplate_worker.py", share / "hotplate_calls.py"};
  for (const std::string& file : {files.keeper, files.worker, files.calls}) {
    if (!fs::exists(file, error)) return absl::NotFoundError(absl::StrCat(Quoted(file), " is missing"));
  }
  return files;
}

WarmPythons::WarmPythons(Supervisor& supervisor, Files files)
    : supervisor_(supervisor), files_(std::move(files)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { Serve(); });
}

WarmPythons::~WarmPythons() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
}

void WarmPythons::Wake() const { eventfd_write(wake_.get(), 1); }

absl::StatusOr<WarmPythons::Started> WarmPythons::Start(const Program& program, const std::function<bool()>& give_up,
                                                        Descriptor third) {
  std::string why_cold;
  absl::StatusOr<std::optional<RunningProgram>> forked = Fork(WarmKeyOf(program), program, give_up, third, why_cold);
  if (!forked.ok()) return forked.status();
  if (*forked) return Started{*std::move(*forked), ""};
  absl::StatusOr<RunningProgram> running = supervisor_.Start(program, give_up, std::move(third));
  if (!running.ok()) return running.status();
  return Started{*std::move(running), std::move(why_cold)};
}

// Nothing, with the reason: it is to be started anew.
absl::StatusOr<std::optional<RunningProgram>> WarmPythons::Fork(const WarmKey& key, const Program& program,
                                                                const std::function<bool()>& give_up,
                                                                const Descriptor& third, std::string& why_cold) {
  why_cold = key.why_not;
  if (!why_cold.empty()) return std::nullopt;
  absl::StatusOr<ProgramStart> start = ProgramStart::Of(program);
  if (!start.ok()) return start.status();
  pid_t asked = 0;
  {
    MutexLock lock(mutex_);
    Environment& environment = EnvironmentFor(key.text, program);
    Zygote* const zygote = environment.serving.get();
    if (zygote == nullptr && environment.failures >= kMostFailures) {
      why_cold = "no warm Python: " + environment.why;
    } else if (zygote == nullptr) {
      why_cold = environment.next           ? "its warm Python is starting"
                 : environment.failures > 0 ? "its warm Python did not start: " + environment.why
                 : environment.had_one      ? "its warm Python had ended"
                                            : "the first in its environment";
      environment.wanted = environment.wanted || !environment.next;
      Wake();
    } else if (!SendMessage(zygote->channel.get(), kStartMessage, start->numbers(third), MSG_DONTWAIT)) {
      why_cold = errno == EAGAIN ? "its warm Python is busy" : "its warm Python had ended";
    } else {
      asked = zygote->running.pid;
    }
  }
  if (!why_cold.empty()) return std::nullopt;
  const absl::StatusOr<KeeperNews> news = start->Await(program, give_up);
  if (absl::IsUnavailable(news.status())) {
    why_cold = "its warm Python ended";
    return std::nullopt;
  }
  if (!news.ok()) return news.status();
  if (news->kind == KeeperNews::Kind::kStale) {
    Stale(key.text, asked);
    why_cold = "packages were installed or removed";
    return std::nullopt;
  }
  if (news->kind == KeeperNews::Kind::kOnlyAnew) {
    why_cold = start->running.NextText();
    return std::nullopt;
  }
  if (news->kind == KeeperNews::Kind::kNotStarted) return NotStarted(program, *news);
  MutexLock lock(mutex_);
  if (const auto found = environments_.find(key.text); found != environments_.end()) ++found->second.scripts;
  return std::move(start->running);
}

WarmPythons::Environment& WarmPythons::EnvironmentFor(const std::string& key, const Program& program) {
  const auto [found, made] = environments_.try_emplace(key);
  if (made) {
    found->second.script = program;
    if (environments_.size() > kMost) {
      // What was just made has been used last.
      const auto oldest =
          std::min_element(environments_.begin(), environments_.end(),
                           [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; });
      Retire(oldest->second.serving);
      Retire(oldest->second.next);
      environments_.erase(oldest);
    }
  }
  found->second.last_used = Steady::now();
  return found->second;
}

void WarmPythons::Stale(const std::string& key, pid_t zygote) {
  {
    MutexLock lock(mutex_);
    const auto found = environments_.find(key);
    if (found == environments_.end() || !found->second.serving) return;
    if (found->second.serving->running.pid != zygote) return;  // another script has said so before
    Retire(found->second.serving);
    found->second.wanted = true;
    found->second.left_out.clear();
  }
  Wake();
}

void WarmPythons::Retire(std::unique_ptr<Zygote>& zygote) {
  if (!zygote) return;
  zygote->channel.Close();
  retired_.push_back(std::move(zygote));
}

std::size_t WarmPythons::Restart() {
  std::size_t count = 0;
  {
    MutexLock lock(mutex_);
    count = environments_.size();
    for (auto& [key, environment] : environments_) {
      Retire(environment.serving);
      Retire(environment.next);
    }
    environments_.clear();
  }
  Wake();
  return count;
}

std::vector<WarmPythons::Known> WarmPythons::WhatIsKnown() const {
  MutexLock lock(mutex_);
  std::vector<const Environment*> ready;
  for (const auto& [key, environment] : environments_) {
    if (environment.had_one && environment.failures == 0) ready.push_back(&environment);
  }
  std::sort(ready.begin(), ready.end(),
            [](const Environment* one, const Environment* other) { return one->last_used < other->last_used; });
  std::vector<Known> known;
  for (const Environment* environment : ready) {
    known.push_back({environment->script.file, WhatMatters(environment->script.environment), environment->modules,
                     environment->left_out});
  }
  return known;
}

void WarmPythons::Prepare(const std::vector<Known>& known) {
  {
    MutexLock lock(mutex_);
    for (const Known& one : known) {
      Program script;
      script.file = one.interpreter;
      script.arguments = {one.interpreter, "-c", ""};
      for (const std::string& variable : one.variables) {
        if (variable.find('=') != std::string::npos) script.environment.push_back(variable);
      }
      const WarmKey key = WarmKeyOf(script);
      if (!key.why_not.empty()) continue;
      Environment& environment = EnvironmentFor(key.text, script);
      if (!one.modules.empty()) environment.modules = one.modules;
      if (environment.modules.size() > kMostModules) environment.modules.resize(kMostModules);
      environment.left_out = one.left_out;
      environment.wanted = true;
    }
  }
  Wake();
}

std::vector<WarmPythons::Row> WarmPythons::Rows() const {
  MutexLock lock(mutex_);
  std::vector<Row> rows;
  for (const auto& [key, environment] : environments_) {
    Row& row = rows.emplace_back();
    row.interpreter = environment.script.file;
    row.left_out = environment.left_out;
    row.scripts = environment.scripts;
    const Zygote* const shown = environment.serving ? environment.serving.get() : environment.next.get();
    row.state = environment.serving                      ? State::kWarm
                : environment.next || environment.wanted ? State::kStarting
                : environment.failures >= kMostFailures  ? State::kFailed
                                                         : State::kEnded;
    row.why = environment.why;
    if (shown == nullptr) continue;
    row.pid = shown->running.pid;
    row.version = shown->version;
    row.modules = shown->imported;
  }
  return rows;
}

// Only this thread takes zygotes away, or changes what it polls of them: pointers to them live across the lock.
void WarmPythons::Serve() {
  for (;;) {
    std::vector<std::string> wanted;
    {
      MutexLock lock(mutex_);
      if (stopping_) break;
      for (auto& [key, environment] : environments_) {
        if (environment.next || !std::exchange(environment.wanted, false)) continue;
        if (environment.failures < kMostFailures) wanted.push_back(key);
      }
    }
    for (const std::string& key : wanted) Begin(key);
    std::vector<std::pair<std::string, Zygote*>> heard;  // with its environment; "": it is retired
    std::vector<pollfd> descriptors = {{wake_.get(), POLLIN, 0}};
    {
      MutexLock lock(mutex_);
      const auto add = [&](const std::string& key, Zygote* zygote) {
        if (zygote == nullptr) return;
        heard.emplace_back(key, zygote);
        for (const Descriptor* one :
             {&zygote->channel, &zygote->running.control, &zygote->running.out, &zygote->running.err}) {
          descriptors.push_back({one->get(), POLLIN, 0});
        }
      };
      for (auto& [key, environment] : environments_) {
        add(key, environment.serving.get());
        add(key, environment.next.get());
      }
      for (const std::unique_ptr<Zygote>& zygote : retired_) add("", zygote.get());
    }
    poll(descriptors.data(), descriptors.size(), -1);
    eventfd_t ignored;
    eventfd_read(wake_.get(), &ignored);
    MutexLock lock(mutex_);
    for (const auto& [key, zygote] : heard) Hear(key, *zygote);
  }
  MutexLock lock(mutex_);
  environments_.clear();
  retired_.clear();
}

void WarmPythons::Begin(const std::string& key) {
  Program program;
  std::vector<std::string> modules;
  {
    MutexLock lock(mutex_);
    const auto found = environments_.find(key);
    if (found == environments_.end() || found->second.next) return;
    const Environment& environment = found->second;
    program = environment.script;
    for (const std::string& name : environment.modules) {
      if (!environment.left_out.contains(name)) modules.push_back(name);
    }
  }
  auto zygote = std::make_unique<Zygote>();
  int ends[2];
  absl::StatusOr<RunningProgram> running = absl::ResourceExhaustedError("no socket for a warm Python");
  program.arguments = {program.file, files_.worker, "3", files_.keeper, program.file};
  program.arguments.insert(program.arguments.end(), modules.begin(), modules.end());
  program.folder = "/";
  program.memory_bytes = 0;
  program.strays_end = true;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
    zygote->channel.Take(ends[0]);
    running = supervisor_.Start(
        program,
        [this] {
          MutexLock lock(mutex_);
          return stopping_;
        },
        Descriptor(ends[1]));
  }
  MutexLock lock(mutex_);
  const auto found = environments_.find(key);
  if (found == environments_.end()) return;  // which kills it
  if (!running.ok()) {
    ++found->second.failures;
    found->second.why = std::string(running.status().message());
    return;
  }
  zygote->running = *std::move(running);
  zygote->running.in.Close();
  found->second.next = std::move(zygote);
}

// What there is to read from one, whichever of its descriptors it is on; so nothing here may wait.
void WarmPythons::Hear(const std::string& key, Zygote& zygote) {
  for (Descriptor* const from : {&zygote.running.out, &zygote.running.err}) {
    std::array<char, 4096> block;
    for (ssize_t got = 1; *from && got > 0;) {
      got = read(from->get(), block.data(), block.size());
      if (got > 0) zygote.said.append(block.data(), static_cast<std::size_t>(got));
      if (got == 0) from->Close();
    }
    if (zygote.said.size() > kMostSaid) zygote.said.erase(0, zygote.said.size() - kMostSaid);
  }
  const auto found = environments_.find(key);
  if (key.empty() || found == environments_.end() ||
      (found->second.serving.get() != &zygote && found->second.next.get() != &zygote)) {
    pollfd ended{zygote.running.control.get(), POLLIN, 0};
    if (poll(&ended, 1, 0) > 0) std::erase_if(retired_, [&](const auto& one) { return one.get() == &zygote; });
    return;
  }
  Environment& environment = found->second;
  std::array<char, 16'384> message;
  for (ssize_t got = 1; got > 0;) {
    got = recv(zygote.channel.get(), message.data(), message.size(), MSG_DONTWAIT);
    if (got > 0) Obey(std::string(message.data(), static_cast<std::size_t>(got)), environment, zygote);
    if (got == 0) zygote.channel.Close();
  }
  pollfd ended{zygote.running.control.get(), POLLIN, 0};
  if (poll(&ended, 1, 0) > 0) Ended(environment, zygote);
}

void WarmPythons::Obey(const std::string& message, Environment& environment, Zygote& zygote) {
  const std::vector<std::string> words = absl::StrSplit(message, '\0');
  if (words[0] == "ready" && words.size() == 2 && environment.next.get() == &zygote) {
    zygote.version = words[1];
    environment.failures = 0;
    environment.why.clear();
    environment.had_one = true;
    Retire(environment.serving);
    environment.serving = std::move(environment.next);
  } else if (words[0] == "trying" && words.size() == 2) {
    zygote.trying = words[1];
  } else if (words[0] == "import" && words.size() == 3) {
    zygote.trying.clear();
    zygote.imported.emplace_back(words[1], words[2]);
  } else if (words[0] == "left_out" && words.size() == 3) {
    zygote.trying.clear();
    environment.left_out[words[1]] = words[2];
  } else if (words[0] == "wants") {
    for (std::size_t i = 1; i < words.size() && environment.modules.size() < kMostModules; ++i) {
      if (environment.left_out.contains(words[i])) continue;
      if (std::find(environment.modules.begin(), environment.modules.end(), words[i]) != environment.modules.end())
        continue;
      environment.modules.push_back(words[i]);
      environment.wanted = true;
    }
  }
}

void WarmPythons::Ended(Environment& environment, const Zygote& zygote) {
  if (environment.serving.get() == &zygote) {
    environment.serving.reset();  // the next script has another one started
    return;
  }
  if (!zygote.trying.empty()) environment.left_out[zygote.trying] = "Python ended as it imported it";
  const absl::StatusOr<ProgramEnd> end = zygote.running.End();
  if (!zygote.trying.empty() || (end.ok() && end->use.exit_code == kEndedForModule && !environment.left_out.empty())) {
    environment.wanted = true;  // without that module
  } else {
    ++environment.failures;
    environment.why = LastLine(zygote.said);
    if (environment.why.empty()) environment.why = "its process ended as it started";
  }
  environment.next.reset();
}

}  // namespace hotplate::server
