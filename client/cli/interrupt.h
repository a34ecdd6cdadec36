// Ctrl-C and TERM during attached work: they call a function on its own thread instead of ending the process. Make it
// before any other thread starts, since threads inherit the mask of blocked signals.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace hotplate::cli {

class InterruptWatch {
 public:
  // Until Begin a signal ends the process with 130 on the spot: there is nothing yet to tidy up. Then `on_interrupt`
  // is called once, at the first signal, and a second one ends the process. A signal that the process was started to
  // ignore stays ignored.
  explicit InterruptWatch(std::function<void()> on_interrupt);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  void Begin() { begun_ = true; }
  // While it is held, a second signal does not end the process either: it is as if it had not come.
  void Hold(bool held) { held_ = held; }
  bool interrupted() const { return interrupted_; }

 private:
  void Loop();

  std::function<void()> on_interrupt_;
  int signals_ = -1;  // a signalfd
  int stop_ = -1;     // an eventfd
  std::atomic<bool> begun_{false}, interrupted_{false}, held_{false};
  std::thread thread_;
};

}  // namespace hotplate::cli
