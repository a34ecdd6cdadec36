// This command's standard input and signals on their way to a program, moved by a thread; and the program's output on its
// way to this command's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "client/lib/client.h"
#include "kernels/base/descriptor.h"

namespace hotplate::cli {

class ProgramPump {
 public:
  // Blocks SIGINT, SIGTERM, SIGHUP and SIGQUIT in this thread and those that it starts: make it before there are others.
  // `give_up` is called on a thread of the pump when a signal comes before Begin, and at the third that came after.
  explicit ProgramPump(std::function<void()> give_up);
  ~ProgramPump();
  ProgramPump(const ProgramPump&) = delete;
  ProgramPump& operator=(const ProgramPump&) = delete;

  // The program takes input and signals from now on.
  void Begin(std::shared_ptr<client::ProgramInput> input);
  // The last signal that came; 0: none.
  int signal() const { return signal_.load(); }

 private:
  void Run();
  void Signalled();
  void PassInput();

  const std::function<void()> give_up_;
  Descriptor signals_, wake_;
  std::shared_ptr<client::ProgramInput> input_;  // set before begun_
  std::atomic<bool> begun_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int> signal_{0};
  int signals_sent_ = 0;
  bool input_open_ = true;
  std::thread thread_;
};

// All of it, as it is. False: it cannot be written there any more.
bool WriteOut(int descriptor, std::string_view text);

}  // namespace hotplate::cli
