#include "kernels/devices/cpu/processor_choice.h"

#include <signal.h>
#include <unistd.h>

namespace hotplate {

bool ProcessorChoice::IsInThisProcess() const { return tgkill(getpid(), thread_, 0) == 0; }

void ProcessorChoice::KeepOff(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE || processor == kept_off_) return;
  Free();
  if (sched_getaffinity(thread_, sizeof before_, &before_) != 0) return;
  others_ = before_;
  CPU_CLR(processor, &others_);
  if (CPU_COUNT(&others_) == 0) return;
  if (sched_setaffinity(thread_, sizeof others_, &others_) == 0) kept_off_ = processor;
}

void ProcessorChoice::Free() {
  if (kept_off_ < 0) return;
  kept_off_ = -1;
  cpu_set_t now;
  if (sched_getaffinity(thread_, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &others_)) return;
  sched_setaffinity(thread_, sizeof before_, &before_);
}

}  // namespace hotplate
