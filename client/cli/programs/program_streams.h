// This command's standard input and signals on their way to a program, each moved by a thread of its own, since input
// waits while the program does not read; and the program's output on its way to this command's.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "client/lib/client.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/mutex.h"

namespace hotplate::cli {

// SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 while a program is on its way or runs. Before Connected they
// end this command at once; before Running they give the program up; then they go to it.
class ProgramSignals {
 public:
  // Blocks them in this thread and those that it starts: make it before there are others. `give_up` is called on a
  // thread of its own, also for the third Ctrl-C within two seconds.
  explicit ProgramSignals(std::function<void()> give_up);
  ~ProgramSignals();
  ProgramSignals(const ProgramSignals&) = delete;
  ProgramSignals& operator=(const ProgramSignals&) = delete;

  void Connected() { connected_ = true; }
  void Running(std::function<void(int number)> send);
  // Called when this command's terminal has another size.
  void OnResize(std::function<void()> resized);
  int last() const { return last_.load(); }  // 0: none came

 private:
  void Run();
  void Handle(int number);
  bool IsImpatient(int number);

  const std::function<void()> give_up_;
  Descriptor signals_, stop_;
  std::atomic<bool> connected_{false};
  std::atomic<int> last_{0};
  Mutex mutex_;
  std::function<void(int)> send_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> resized_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::chrono::steady_clock::time_point> interrupts_;  // lately; of the thread
  std::thread thread_;
};

// Passes standard input on until it ends or the program takes no more. The thread is left to itself: it may sit in a
// read that nothing but input ends.
void PassInput(std::shared_ptr<client::ProgramInput> input);

// All of it, as it is. False: it cannot be written there any more.
bool WriteOut(int descriptor, std::string_view text);

}  // namespace hotplate::cli
