// What a test tells cuSOLVER's and cuFFT's stand-ins, and what it hears of them beside their calls.
#pragma once

namespace hotplate::emulation {

// The `first`-th of the next calls that return a status, from 0, fails; below 0: none does. How the end of a handle or
// plan went is nobody's concern, and does not count.
struct Fault {
  int first = -1;
  bool of_memory = false;  // as where the device has none for the library

  bool IsNow() { return first >= 0 && first-- == 0; }
};
inline Fault fault;

// The next time that the launches behind a library's call are asked about, one has failed.
inline bool launch_failed = false;

// How often ClearLaunchError was called.
inline int cleared_launch_errors = 0;

}  // namespace hotplate::emulation
