// The fake driver's state and what it does. Its functions are the driver's, with the names of their subject;
// fake_cuda.cpp gives them the names that the driver has.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/devices/cuda/executor/driver.h"
#include "tests/fakes/cuda/fake_cuda.h"

namespace hotplate {

// Mapped memory of a pool that is in no block. `stream` freed it with its free number `turn`, and may have it again at
// once; others when the stream has come there. It goes back to the device, and together with other such memory, only
// once the host has seen the stream come there (by waiting for it or for an event behind it): then stream is null.
struct IdleMemory {
  std::uint64_t bytes = 0;
  CUstream_st* stream = nullptr;
  std::uint64_t turn = 0;
  bool reached = true;
};

}  // namespace hotplate

struct CUctx_st {
  int device = 0;
  int retained = 0;
  std::atomic<int> broken{0};
};

struct CUevent_st {
  CUctx_st* context = nullptr;
  unsigned flags = 0;
  std::uint64_t recorded = 0, reached = 0;  // guarded by FakeDriver::mutex_, as the next three
  std::shared_ptr<bool> passed;             // the last record: whoever waits for it is not concerned by later ones
  CUstream_st* stream = nullptr;            // that it was recorded on last
  std::uint64_t frees = 0;                  // of that stream before it
  std::chrono::steady_clock::time_point time;
};

struct CUmemPoolHandle_st {
  int device = 0;
  std::uint64_t threshold = 0, reserved = 0, reserved_high = 0, used = 0, used_high = 0;
  std::vector<hotplate::IdleMemory> idle;  // guarded by FakeDriver::mutex_, as the next
  std::vector<int> readers;                // other devices that may read it
};

struct CUstream_st {
  CUctx_st* context = nullptr;
  std::deque<std::function<void()>> work;  // guarded by FakeDriver::mutex_, as the next two
  bool busy = false;
  bool stopping = false;
  std::uint64_t frees = 0;  // so far; guarded by FakeDriver::mutex_
  std::thread thread;
};

namespace hotplate {

inline constexpr int kInvalidValue = 1, kNotInitialised = 3, kInvalidContext = 201, kInvalidHandle = 400;
inline constexpr int kMostDevices = 80;

class FakeDriver : public FakeCuda {
 public:
  FakeDriver();

  void Reset(const FakeScript& script) override;
  void Change(const FakeScript& script) override;
  FakeScript script() override;
  std::vector<std::string> Calls() override;
  void ForgetCalls() override;
  void Hold() override;
  void Release() override;
  FakeCounts Counts() override;
  std::vector<std::string> Misuse() override;
  void Break(void* stream, int error) override;
  void WaitForBreak() override;

  // At the head of every function: notes the call, and says how it is to fail.
  int Call(const char* name, std::uint64_t bytes = UINT64_MAX);
  // The same for functions that need a context.
  int CallInContext(const char* name, std::uint64_t bytes = UINT64_MAX);

  // Devices and their contexts (fake_devices.cpp).
  int Init();
  int Count(int* count);
  int Device(int* device, int ordinal);
  int Attribute(int* value, int attribute);
  int CanAccess(int* can, int device, int peer);
  int Retain(CUctx_st** context, int device);
  int ReleaseContext(int device);
  int MakeCurrent(CUctx_st* context);

  // Memory of devices and pinned memory of the host (fake_memory.cpp).
  int MemoryInfo(std::size_t* free, std::size_t* total);
  int MakePool(CUmemPoolHandle_st** pool, const DriverPoolProperties* properties);
  int DestroyPool(CUmemPoolHandle_st* pool);
  int PoolAttribute(CUmemPoolHandle_st* pool, int attribute, void* value, bool set);
  int Trim(CUmemPoolHandle_st* pool, std::uint64_t keep);
  int SetAccess(CUmemPoolHandle_st* pool, const DriverAccess& access);
  int Allocate(DevicePointer* memory, std::uint64_t bytes, CUmemPoolHandle_st* pool, CUstream_st* stream);
  int Free(DevicePointer memory, CUstream_st* stream);
  int Pin(void** memory, std::uint64_t bytes);
  int Unpin(void* memory);
  int CopyBetween(DevicePointer to, CUctx_st* to_context, DevicePointer from, CUctx_st* from_context,
                  std::uint64_t bytes, CUstream_st* stream);
  int Copy(const char* name, void* to, const void* from, std::uint64_t bytes, bool up, CUstream_st* stream);

  // Code that is loaded (fake_modules.cpp).
  int LoadModule(CUmod_st** module, const void* code);
  int UnloadModule(CUmod_st* module);
  int FunctionOf(CUfunc_st** function, CUmod_st* module, const char* name);
  int LaunchFunction(CUfunc_st* function, unsigned blocks, unsigned threads, CUstream_st* stream, void** parameters);

  // Streams, each a thread, and events (fake_streams.cpp).
  int MakeStream(CUstream_st** stream);
  int DestroyStream(CUstream_st* stream);
  int QueryStream(CUstream_st* stream);
  int SynchronizeStream(CUstream_st* stream);
  int LaunchHost(CUstream_st* stream, HostFunction function, void* user);
  int MakeEvent(CUevent_st** event, unsigned flags);
  int DestroyEvent(CUevent_st* event);
  int Record(CUevent_st* event, CUstream_st* stream);
  int WaitEvent(CUstream_st* stream, CUevent_st* event);
  int QueryEvent(CUevent_st* event);
  int SynchronizeEvent(CUevent_st* event);
  int ElapsedTime(float* ms, CUevent_st* from, CUevent_st* to);

 private:
  struct Block {
    CUmemPoolHandle_st* pool = nullptr;
    std::uint64_t bytes = 0;
    bool freed = false;  // by the host; the stream has not come to it yet
  };

  static FakeScript Parsed(const std::string& text);
  // The devices that CUDA_VISIBLE_DEVICES leaves: up to the first entry that names none, or names one again.
  void Show();
  static std::string Uuid(int device);
  // The pools that `gone` names, and what of them is not on its way out already.
  void ForgetMemory(const std::function<bool(const CUmemPoolHandle_st*)>& gone);
  std::uint64_t Reserved(int device) const;
  std::uint64_t Unreserved(int device) const;
  // The host sees that the stream has come to its first `turn` frees.
  void Observe(const CUstream_st* stream, std::uint64_t turn);
  static void Shrink(CUmemPoolHandle_st& pool, std::uint64_t keep);
  // The pool of the block that has all of these bytes; null: there is none.
  const CUmemPoolHandle_st* PoolOf(const void* address, std::uint64_t bytes) const;
  bool InPinned(const void* address, std::uint64_t bytes) const;
  int Enqueue(CUstream_st* stream, std::function<void()> work);
  void Execute(CUstream_st& stream);

  static inline thread_local CUctx_st* current_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  FakeScript script_;
  int failures_ = 0;
  bool initialised_ = false;
  bool held_ = false;
  std::vector<int> visible_;
  std::vector<std::string> calls_, misuse_;
  CUctx_st contexts_[kMostDevices];
  std::map<CUstream_st*, std::unique_ptr<CUstream_st>> streams_;
  std::map<CUevent_st*, std::unique_ptr<CUevent_st>> events_;
  std::map<CUmemPoolHandle_st*, std::unique_ptr<CUmemPoolHandle_st>> pools_;
  std::map<void*, Block> blocks_;
  std::map<void*, std::uint64_t> pinned_;
  int modules_ = 0;
  std::vector<std::shared_ptr<CUfunc_st>> functions_;
};

// Lives as long as the process: streams of an unloaded plug-in may still use it.
FakeDriver& TheFakeDriver();

}  // namespace hotplate
