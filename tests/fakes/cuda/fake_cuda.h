// What a test tells the fake libcuda.so.1 (fake_cuda.cpp) to be, and what it asks it afterwards. Found with dlsym:
// "fake_cuda" is a FakeCuda*(*)().
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hotplate {

struct FakeScript {
  int version = 13000;  // CUDA's, of the driver
  int init_result = 0;  // of cuInit
  int devices = 1;      // of the node; CUDA_VISIBLE_DEVICES hides some of them, as it does with the real one
  std::string name = "NVIDIA Fake 90";
  int compute_major = 9, compute_minor = 0;
  int compute_mode = 0;
  int memory_pools = 1;
  bool taken = false;                                   // by another process: no context can be made
  bool peers = true;                                    // devices reach each other's memory
  bool no_code = false;                                 // the plug-in has none for this device
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // of each device
  std::uint64_t others_bytes = 0;                       // of these, what other processes have
  std::uint64_t piece_bytes = UINT64_MAX;               // the largest block that can be had of what is free
  std::uint64_t pinnable_bytes = std::uint64_t{1} << 30;

  // Call number fail_at (from 1) of the function fail_call, or of any function if that is empty, returns fail_code.
  std::string fail_call;
  int fail_at = 0;
  int fail_code = 1;
  // Kernels that break the device's context for good, with this error.
  std::map<std::string, int> breaking_kernels;
  // A device whose broken context nobody holds any more gets another one, that works.
  bool heals = false;
  // Kernels that end no sooner than another has broken a context.
  std::set<std::string> waiting_kernels;
  // Kernels whose host side runs out of memory, with work in flight.
  std::set<std::string> throwing_kernels;
  // Kernels whose launch is refused with this error, once each.
  std::map<std::string, int> refused_launches;
};

struct FakeCounts {
  int contexts = 0, streams = 0, events = 0, pools = 0, allocations = 0, pinned = 0, modules = 0;
  auto operator<=>(const FakeCounts&) const = default;
};

class FakeCuda {
 public:
  virtual ~FakeCuda() = default;
  // Starts anew. Nothing of before is in use any more.
  virtual void Reset(const FakeScript& script) = 0;
  // Changes the script of a driver in use.
  virtual void Change(const FakeScript& script) = 0;
  virtual FakeScript script() = 0;
  // "cuMemcpyHtoDAsync 4194304", in the order of the calls; the number is of bytes, where there are any.
  virtual std::vector<std::string> Calls() = 0;
  virtual void ForgetCalls() = 0;
  // Streams execute nothing until Release.
  virtual void Hold() = 0;
  virtual void Release() = 0;
  // What exists now, but for what went with a broken context.
  virtual FakeCounts Counts() = 0;
  // Uses that the real driver would not forgive, or that are slow with it: a freed handle, a copy beyond a block, a
  // copy from memory that is not pinned. Should be empty.
  virtual std::vector<std::string> Misuse() = 0;
  // For kernels that run on the host: an error that stays, in the context of the stream.
  virtual void Break(void* stream, int error) = 0;
  // Returns when a context is broken.
  virtual void WaitForBreak() = 0;
};

}  // namespace hotplate
