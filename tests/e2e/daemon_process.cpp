#include "tests/e2e/daemon_process.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <utility>

extern char** environ;

namespace hotplate::e2e {
namespace {

constexpr auto kPatience = std::chrono::minutes(2);  // instrumented builds on a busy machine are slow

std::string Contents(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace

bool WaitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

DaemonProcess::DaemonProcess(const std::vector<std::string>& flags) {
  std::vector<std::string> words = {std::string(HOTPLATE_BIN_DIR) + "/hotplated",
                                    "--directory",
                                    folder(),
                                    "--name",
                                    "test",
                                    "--device",
                                    "cpu",
                                    "--log-file",
                                    folder_.File("log")};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string said = folder_.File("said");
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int error = posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = 0;
    ADD_FAILURE() << "cannot start " << arguments[0];
    return;
  }

  const std::string path = folder_.File("servers/test.json");
  WaitUntil([&] { return std::filesystem::exists(path) || !alive(); });
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;
  serving_ = alive() && google::protobuf::util::JsonStringToMessage(Contents(path), &record_, lenient).ok();
  EXPECT_TRUE(serving_) << "hotplated does not serve: " << Log();
}

DaemonProcess::~DaemonProcess() {
  if (pid_ != 0 && ::testing::Test::HasFailure()) std::fprintf(stderr, "hotplated's log:\n%s\n", Log().c_str());
  Kill();
}

bool DaemonProcess::alive() const {
  // Leaves the process to be waited for.
  siginfo_t info{};
  return pid_ != 0 && waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

int DaemonProcess::Stop() {
  if (pid_ == 0) return -1;
  kill(pid_, SIGTERM);
  if (!WaitUntil([&] { return !alive(); })) return -1;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void DaemonProcess::Kill() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

std::string DaemonProcess::Log() const { return Contents(folder_.File("said")) + Contents(folder_.File("log")); }

std::shared_ptr<grpc::Channel> DaemonProcess::Channel() const {
  // Channels to the same address with the same arguments share a connection unless they are told apart.
  static std::atomic<int> next{0};
  grpc::ChannelArguments arguments;
  arguments.SetInt("hotplate.test.channel", next++);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetSslTargetNameOverride("hotplate");
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = record_.certificate_pem();
  options.pem_cert_chain = record_.client_certificate_pem();
  options.pem_private_key = record_.client_key_pem();
  const std::string address = record_.endpoints(0).address() + ":" + std::to_string(record_.endpoints(0).port());
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

Caller Caller::Of(const DaemonProcess& daemon) {
  static std::atomic<int> next{1};
  char session[33];
  std::snprintf(session, sizeof session, "%032x", next++);
  return {daemon.record().token(), session};
}

std::unique_ptr<grpc::ClientContext> Caller::Context() const {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!token_.empty()) context->AddMetadata("authorization", "Bearer " + token_);
  if (!session_.empty()) context->AddMetadata("hotplate-session", session_);
  context->AddMetadata("hotplate-client", "hotplate/test");
  context->set_deadline(std::chrono::system_clock::now() + kPatience);
  return context;
}

}  // namespace hotplate::e2e
