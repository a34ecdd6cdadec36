// Ctrl-C in a call that waits in C++.
#pragma once

#include "client/lib/client.h"

namespace hotplate::python {

// While it lives on the main thread, SIGINT cancels: Python's own handler only leaves a note, which nobody reads before
// the call is back. Before Python's handler therefore stands one of ours, which wakes a thread that cancels. On any
// other thread, where Python runs no handlers, this does nothing. Made and destroyed with the GIL; in between the call
// lets go of it.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(const client::Cancellation& cancellation);
  ~CancelOnInterrupt();
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

  // After an interrupt: runs Python's handlers, and throws what they raise (KeyboardInterrupt).
  void Check() const;

 private:
  const client::Cancellation cancellation_;
  bool watching_ = false;
  const client::Cancellation* outer_ = nullptr;
};

}  // namespace hotplate::python
