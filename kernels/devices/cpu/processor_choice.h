// Keeps a thread that sleeps off a processor until somebody says that it has woken.
//
// In a virtual machine Linux takes a processor that rests for one that the host has taken away, and so wakes a thread
// on the processor of whoever wakes it, where it waits until the load is balanced, some 3 ms later, while the other
// rests.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace hotplate {

// One thread's. Not thread-safe.
class ProcessorChoice {
 public:
  // Of more threads that are woken together only the first few would be on the waker's processor.
  static constexpr int kMostSleepers = 8;

  explicit ProcessorChoice(pid_t thread) : thread_(thread) {}

  // False once it has ended.
  bool IsInThisProcess() const;
  // Until Free(). Nothing changes where the thread may run on no other processor.
  void KeepOff(int processor);
  // It may run again where it might before, unless somebody else has changed that meanwhile.
  void Free();

 private:
  pid_t thread_;
  int kept_off_ = -1;  // a processor
  cpu_set_t before_ = {}, others_ = {};
};

}  // namespace hotplate
