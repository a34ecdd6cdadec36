// Stands for libcuda.so.1: device memory is the host's, each stream is a thread, events carry steady-clock times, and
// whatever can go wrong with a real one goes wrong on demand (FakeScript). A program that knows nothing of it, the
// daemon, scripts it by the environment: FAKE_CUDA="devices=2 version=12040 init_result=999 name=…".
#include "tests/fakes/cuda/fake_cuda.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "kernels/cuda/driver.h"

using hotplate::DriverPoolProperties;
using hotplate::DriverUuid;
using hotplate::FakeCounts;
using hotplate::FakeCuda;
using hotplate::FakeScript;
using Clock = std::chrono::steady_clock;

struct CUctx_st {
  int device = 0;
  int retained = 0;
  std::atomic<int> broken{0};
};

struct CUevent_st {
  CUctx_st* context = nullptr;
  unsigned flags = 0;
  std::uint64_t recorded = 0, reached = 0;  // guarded by Fake::mutex_, as the next three
  std::shared_ptr<bool> passed;             // the last record: whoever waits for it is not concerned by later ones
  CUstream_st* stream = nullptr;            // that it was recorded on last
  std::uint64_t frees = 0;                  // of that stream before it
  Clock::time_point time;
};

// Mapped memory of a pool that is in no block. `stream` freed it with its free number `turn`, and may have it again at
// once; others when the stream has come there. It goes back to the device, and together with other such memory, only
// once the host has seen the stream come there (by waiting for it or for an event behind it): then stream is null.
struct Idle {
  std::uint64_t bytes = 0;
  CUstream_st* stream = nullptr;
  std::uint64_t turn = 0;
  bool reached = true;
};

struct CUmemPoolHandle_st {
  int device = 0;
  std::uint64_t threshold = 0, reserved = 0, reserved_high = 0, used = 0, used_high = 0;
  std::vector<Idle> idle;  // guarded by Fake::mutex_
};

struct CUstream_st {
  CUctx_st* context = nullptr;
  std::deque<std::function<void()>> work;  // guarded by Fake::mutex_, as the next two
  bool busy = false;
  bool stopping = false;
  std::uint64_t frees = 0;  // so far; guarded by Fake::mutex_
  std::thread thread;
};

namespace {

constexpr int kInvalidValue = 1, kNotInitialised = 3, kInvalidContext = 201, kInvalidHandle = 400;
constexpr int kMostDevices = 16;

thread_local CUctx_st* current = nullptr;

struct Block {
  CUmemPoolHandle_st* pool = nullptr;
  std::uint64_t bytes = 0;
  bool freed = false;  // by the host; the stream has not come to it yet
};

class Fake : public FakeCuda {
 public:
  Fake() {
    for (int i = 0; i < kMostDevices; ++i) contexts_[i].device = i;
    if (const char* text = std::getenv("FAKE_CUDA")) script_ = Parsed(text);
  }

  void Reset(const FakeScript& script) override {
    const std::lock_guard lock(mutex_);
    script_ = script;
    calls_.clear();
    misuse_.clear();
    initialised_ = held_ = false;
    failures_ = 0;
    for (CUctx_st& context : contexts_) {
      if (context.broken != 0)
        ForgetMemory([&](const CUmemPoolHandle_st* pool) { return pool->device == context.device; });
      context.broken = 0;
    }
  }
  void Change(const FakeScript& script) override {
    const std::lock_guard lock(mutex_);
    script_ = script;
    failures_ = 0;
  }
  FakeScript script() override {
    const std::lock_guard lock(mutex_);
    return script_;
  }
  std::vector<std::string> Calls() override {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void ForgetCalls() override {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }
  void Hold() override {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void Release() override {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  FakeCounts Counts() override {
    const std::lock_guard lock(mutex_);
    FakeCounts counts;
    for (const CUctx_st& context : contexts_) counts.contexts += context.retained;
    counts.streams = static_cast<int>(streams_.size());
    counts.events = static_cast<int>(events_.size());
    for (const auto& [raw, pool] : pools_) counts.pools += contexts_[pool->device].broken == 0;
    for (const auto& [address, block] : blocks_) {
      if (!block.freed) counts.allocations += contexts_[block.pool->device].broken == 0;
    }
    counts.pinned = static_cast<int>(pinned_.size());
    return counts;
  }
  std::vector<std::string> Misuse() override {
    const std::lock_guard lock(mutex_);
    return misuse_;
  }
  void Break(void* stream, int error) override {
    const std::lock_guard lock(mutex_);
    static_cast<CUstream_st*>(stream)->context->broken = error;
    changed_.notify_all();
  }
  void WaitForBreak() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return std::any_of(std::begin(contexts_), std::end(contexts_), [](const CUctx_st& c) { return c.broken != 0; });
    });
  }

  // At the head of every function: notes the call, and says how it is to fail.
  int Call(const char* name, std::uint64_t bytes = UINT64_MAX) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(bytes == UINT64_MAX ? name : std::string(name) + " " + std::to_string(bytes));
    if (script_.fail_at > 0 && (script_.fail_call.empty() || script_.fail_call == name) &&
        ++failures_ == script_.fail_at) {
      return script_.fail_code;
    }
    return 0;
  }
  // The same for functions that need a context.
  int CallInContext(const char* name, std::uint64_t bytes = UINT64_MAX) {
    if (const int error = Call(name, bytes)) return error;
    if (current == nullptr) return kInvalidContext;
    return current->broken;
  }

  int Init() {
    if (const int error = Call("cuInit")) return error;
    const std::lock_guard lock(mutex_);
    if (script_.init_result != 0) return script_.init_result;
    visible_.clear();
    Show();
    if (visible_.empty()) return hotplate::kDriverNoDevice;
    initialised_ = true;
    return 0;
  }
  int Count(int* count) {
    if (const int error = Call("cuDeviceGetCount")) return error;
    const std::lock_guard lock(mutex_);
    if (!initialised_) return kNotInitialised;
    *count = static_cast<int>(visible_.size());
    return 0;
  }
  int Device(int* device, int ordinal) {
    if (const int error = Call("cuDeviceGet")) return error;
    const std::lock_guard lock(mutex_);
    if (!initialised_) return kNotInitialised;
    if (ordinal < 0 || ordinal >= static_cast<int>(visible_.size())) return hotplate::kDriverInvalidDevice;
    *device = visible_[ordinal];
    return 0;
  }
  int Attribute(int* value, int attribute) {
    if (const int error = Call("cuDeviceGetAttribute")) return error;
    const std::lock_guard lock(mutex_);
    switch (attribute) {
      case hotplate::kAttributeMultiprocessors:
        *value = 8;
        return 0;
      case hotplate::kAttributeClockKhz:
        *value = 1'500'000;
        return 0;
      case hotplate::kAttributeComputeMode:
        *value = script_.compute_mode;
        return 0;
      case hotplate::kAttributeComputeMajor:
        *value = script_.compute_major;
        return 0;
      case hotplate::kAttributeComputeMinor:
        *value = script_.compute_minor;
        return 0;
      case hotplate::kAttributeSingleToDoubleRatio:
        *value = 2;
        return 0;
      case hotplate::kAttributeMemoryPools:
        *value = script_.memory_pools;
        return 0;
      default:
        return kInvalidValue;
    }
  }
  int Retain(CUctx_st** context, int device) {
    if (const int error = Call("cuDevicePrimaryCtxRetain")) return error;
    const std::lock_guard lock(mutex_);
    if (script_.taken) return hotplate::kDriverDeviceUnavailable;
    ++contexts_[device].retained;
    *context = &contexts_[device];
    return 0;
  }
  int ReleaseContext(int device) {
    if (const int error = Call("cuDevicePrimaryCtxRelease_v2")) return error;
    const std::lock_guard lock(mutex_);
    if (contexts_[device].retained <= 0) misuse_.emplace_back("a context is released too often");
    --contexts_[device].retained;
    return 0;
  }

  int MemoryInfo(std::size_t* free, std::size_t* total) {
    if (const int error = CallInContext("cuMemGetInfo_v2")) return error;
    const std::lock_guard lock(mutex_);
    *total = script_.memory_bytes;
    *free = Unreserved(current->device);
    return 0;
  }
  int MakePool(CUmemPoolHandle_st** pool, const DriverPoolProperties* properties) {
    if (const int error = CallInContext("cuMemPoolCreate")) return error;
    const std::lock_guard lock(mutex_);
    auto made = std::make_unique<CUmemPoolHandle_st>();
    made->device = properties->location_id;
    *pool = made.get();
    pools_.emplace(made.get(), std::move(made));
    return 0;
  }
  int DestroyPool(CUmemPoolHandle_st* pool) {
    if (const int error = CallInContext("cuMemPoolDestroy")) return error;
    const std::lock_guard lock(mutex_);
    if (!pools_.contains(pool)) misuse_.emplace_back("an unknown pool is destroyed");
    for (auto& [address, block] : blocks_) {
      if (block.pool == pool && !block.freed) misuse_.emplace_back("a pool is destroyed that has blocks");
    }
    ForgetMemory([pool](const CUmemPoolHandle_st* one) { return one == pool; });
    return 0;
  }
  int PoolAttribute(CUmemPoolHandle_st* pool, int attribute, void* value, bool set) {
    if (const int error = CallInContext(set ? "cuMemPoolSetAttribute" : "cuMemPoolGetAttribute")) return error;
    const std::lock_guard lock(mutex_);
    if (!pools_.contains(pool)) return kInvalidHandle;
    std::uint64_t* slot = nullptr;
    if (attribute == hotplate::kPoolReleaseThreshold) slot = &pool->threshold;
    if (attribute == hotplate::kPoolReservedCurrent) slot = &pool->reserved;
    if (attribute == hotplate::kPoolReservedHigh) slot = &pool->reserved_high;
    if (attribute == hotplate::kPoolUsedCurrent) slot = &pool->used;
    if (attribute == hotplate::kPoolUsedHigh) slot = &pool->used_high;
    if (slot == nullptr) return kInvalidValue;
    set ? std::memcpy(slot, value, sizeof *slot) : std::memcpy(value, slot, sizeof *slot);
    return 0;
  }
  int Trim(CUmemPoolHandle_st* pool, std::uint64_t keep) {
    if (const int error = CallInContext("cuMemPoolTrimTo")) return error;
    const std::lock_guard lock(mutex_);
    if (!pools_.contains(pool)) return kInvalidHandle;
    Shrink(*pool, keep);
    return 0;
  }
  int Allocate(hotplate::DevicePointer* memory, std::uint64_t bytes, CUmemPoolHandle_st* pool, CUstream_st* stream) {
    if (const int error = CallInContext("cuMemAllocFromPoolAsync", bytes)) return error;
    const std::lock_guard lock(mutex_);
    if (!pools_.contains(pool) || !streams_.contains(stream)) return kInvalidHandle;
    if (bytes == 0) return kInvalidValue;
    const auto kept = std::find_if(pool->idle.begin(), pool->idle.end(), [&](const Idle& one) {
      return one.bytes >= bytes && (one.reached || one.stream == stream);
    });
    const bool more = kept == pool->idle.end();
    if (more && bytes > Unreserved(pool->device)) return hotplate::kDriverOutOfMemory;
    void* const made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (made == nullptr) return hotplate::kDriverOutOfMemory;
    if (more) {
      pool->reserved += bytes;
    } else {
      kept->bytes -= bytes;
      if (kept->bytes == 0) pool->idle.erase(kept);
    }
    pool->used += bytes;
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
    pool->used_high = std::max(pool->used_high, pool->used);
    blocks_[made] = {pool, bytes, false};
    *memory = reinterpret_cast<hotplate::DevicePointer>(made);
    return 0;
  }
  int Free(hotplate::DevicePointer memory, CUstream_st* stream) {
    if (const int error = CallInContext("cuMemFreeAsync")) return error;
    void* const address = reinterpret_cast<void*>(memory);
    CUmemPoolHandle_st* pool = nullptr;
    std::uint64_t turn = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto block = blocks_.find(address);
      if (block == blocks_.end() || block->second.freed) {
        misuse_.emplace_back("memory is freed that is not there");
        return kInvalidValue;
      }
      block->second.freed = true;
      pool = block->second.pool;
      pool->used -= block->second.bytes;
      turn = streams_.contains(stream) ? ++stream->frees : 0;
      pool->idle.push_back({block->second.bytes, stream, turn, false});
    }
    return Enqueue(stream, [this, address, pool, stream, turn] {
      {
        const std::lock_guard lock(mutex_);
        blocks_.erase(address);
        if (pools_.contains(pool)) {
          for (Idle& one : pool->idle) one.reached |= one.stream == stream && one.turn <= turn;
        }
      }
      std::free(address);
    });
  }
  int Pin(void** memory, std::uint64_t bytes) {
    if (const int error = CallInContext("cuMemHostAlloc", bytes)) return error;
    const std::lock_guard lock(mutex_);
    std::uint64_t all = bytes;
    for (const auto& [address, size] : pinned_) all += size;
    if (all > script_.pinnable_bytes) return hotplate::kDriverOutOfMemory;
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    pinned_[*memory] = bytes;
    return 0;
  }
  int Unpin(void* memory) {
    if (const int error = Call("cuMemFreeHost")) return error;
    const std::lock_guard lock(mutex_);
    if (pinned_.erase(memory) == 0) {
      misuse_.emplace_back("host memory is freed that is not pinned");
      return kInvalidValue;
    }
    std::free(memory);
    return 0;
  }
  int Copy(const char* name, void* to, const void* from, std::uint64_t bytes, bool up, CUstream_st* stream) {
    if (const int error = CallInContext(name, bytes)) return error;
    {
      const std::lock_guard lock(mutex_);
      if (!InDevice(up ? to : from, bytes)) misuse_.push_back(std::string(name) + " beyond a block");
      if (!InPinned(up ? from : to, bytes)) misuse_.push_back(std::string(name) + " with memory that is not pinned");
    }
    return Enqueue(stream, [to, from, bytes, stream] {
      if (stream->context->broken == 0) std::memcpy(to, from, bytes);
    });
  }

  int MakeStream(CUstream_st** stream) {
    if (const int error = CallInContext("cuStreamCreate")) return error;
    auto made = std::make_unique<CUstream_st>();
    CUstream_st* const raw = *stream = made.get();
    raw->context = current;
    raw->thread = std::thread([this, raw] { Execute(*raw); });
    const std::lock_guard lock(mutex_);
    streams_.emplace(raw, std::move(made));
    return 0;
  }
  int DestroyStream(CUstream_st* stream) {
    if (const int error = Call("cuStreamDestroy_v2")) return error;
    std::unique_ptr<CUstream_st> owned;
    {
      const std::lock_guard lock(mutex_);
      const auto found = streams_.find(stream);
      if (found == streams_.end()) {
        misuse_.emplace_back("an unknown stream is destroyed");
        return kInvalidHandle;
      }
      owned = std::move(found->second);
      streams_.erase(found);
      owned->stopping = true;
      changed_.notify_all();
    }
    owned->thread.join();
    const std::lock_guard lock(mutex_);
    Observe(stream, UINT64_MAX);
    return 0;
  }
  int QueryStream(CUstream_st* stream) {
    if (const int error = CallInContext("cuStreamQuery")) return error;
    const std::lock_guard lock(mutex_);
    return stream->work.empty() && !stream->busy ? stream->context->broken.load() : hotplate::kDriverNotReady;
  }
  int SynchronizeStream(CUstream_st* stream) {
    if (const int error = CallInContext("cuStreamSynchronize")) return error;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [stream] { return stream->work.empty() && !stream->busy; });
    Observe(stream, stream->frees);
    for (auto& [raw, pool] : pools_) Shrink(*pool, pool->threshold);
    return stream->context->broken;
  }
  int LaunchHost(CUstream_st* stream, hotplate::HostFunction function, void* user) {
    // Kernels come this way: what was enqueued is run, whatever the context's state, so that nothing is leaked.
    const int error = CallInContext("cuLaunchHostFunc");
    if (error != 0 && stream->context->broken == 0) return error;
    return Enqueue(stream, [function, user] { function(user); });
  }

  int MakeEvent(CUevent_st** event, unsigned flags) {
    if (const int error = CallInContext("cuEventCreate")) return error;
    auto made = std::make_unique<CUevent_st>();
    made->context = current;
    made->flags = flags;
    *event = made.get();
    const std::lock_guard lock(mutex_);
    events_.emplace(made.get(), std::move(made));
    return 0;
  }
  int DestroyEvent(CUevent_st* event) {
    if (const int error = Call("cuEventDestroy_v2")) return error;
    const std::lock_guard lock(mutex_);
    if (events_.erase(event) == 0) misuse_.emplace_back("an unknown event is destroyed");
    return 0;
  }
  int Record(CUevent_st* event, CUstream_st* stream) {
    if (const int error = CallInContext("cuEventRecord")) return error;
    std::uint64_t turn = 0;
    const auto passed = std::make_shared<bool>(false);
    {
      const std::lock_guard lock(mutex_);
      if (!events_.contains(event)) return kInvalidHandle;
      turn = ++event->recorded;
      event->passed = passed;
      event->stream = stream;
      event->frees = streams_.contains(stream) ? stream->frees : 0;
    }
    return Enqueue(stream, [this, event, turn, passed] {
      const std::lock_guard lock(mutex_);
      *passed = true;
      changed_.notify_all();
      if (!events_.contains(event) || event->passed != passed) return;
      event->reached = turn;
      event->time = Clock::now();
    });
  }
  int WaitEvent(CUstream_st* stream, CUevent_st* event) {
    if (const int error = CallInContext("cuStreamWaitEvent")) return error;
    std::shared_ptr<bool> passed;
    {
      const std::lock_guard lock(mutex_);
      if (!events_.contains(event)) return kInvalidHandle;
      passed = event->passed;
    }
    if (passed == nullptr) return 0;
    return Enqueue(stream, [this, passed] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return *passed; });
    });
  }
  int QueryEvent(CUevent_st* event) {
    if (const int error = CallInContext("cuEventQuery")) return error;
    const std::lock_guard lock(mutex_);
    if (!events_.contains(event)) return kInvalidHandle;
    if (event->reached < event->recorded) return hotplate::kDriverNotReady;
    Observe(event->stream, event->frees);
    return event->context->broken;
  }
  int SynchronizeEvent(CUevent_st* event) {
    if (const int error = CallInContext("cuEventSynchronize")) return error;
    std::unique_lock lock(mutex_);
    if (!events_.contains(event)) return kInvalidHandle;
    changed_.wait(lock, [event] { return event->reached >= event->recorded; });
    Observe(event->stream, event->frees);
    return event->context->broken;
  }
  int ElapsedTime(float* ms, CUevent_st* from, CUevent_st* to) {
    if (const int error = CallInContext("cuEventElapsedTime")) return error;
    const std::lock_guard lock(mutex_);
    if (((from->flags | to->flags) & hotplate::kEventDisableTiming) != 0) return kInvalidHandle;
    if (from->reached < from->recorded || to->reached < to->recorded) return hotplate::kDriverNotReady;
    *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return 0;
  }

 private:
  static FakeScript Parsed(const std::string& text) {
    FakeScript script;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const std::string key = word.substr(0, word.find('='));
      const std::string value = key.size() < word.size() ? word.substr(key.size() + 1) : "";
      if (key == "devices") script.devices = std::atoi(value.c_str());
      if (key == "version") script.version = std::atoi(value.c_str());
      if (key == "init_result") script.init_result = std::atoi(value.c_str());
      if (key == "compute_mode") script.compute_mode = std::atoi(value.c_str());
      if (key == "compute_major") script.compute_major = std::atoi(value.c_str());
      if (key == "taken") script.taken = true;
      if (key == "no_code") script.no_code = true;
      if (key == "memory_bytes") script.memory_bytes = std::strtoull(value.c_str(), nullptr, 10);
      if (key == "others_bytes") script.others_bytes = std::strtoull(value.c_str(), nullptr, 10);
      if (key == "breaking_kernel") script.breaking_kernels[value] = hotplate::kDriverIllegalAddress;
    }
    return script;
  }

  // The devices that CUDA_VISIBLE_DEVICES leaves: up to the first entry that names none, or names one again.
  void Show() {
    const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
    const int there = std::min(script_.devices, kMostDevices);
    for (int i = 0; text == nullptr && i < there; ++i) visible_.push_back(i);
    std::istringstream entries(text != nullptr ? text : "");
    for (std::string entry; std::getline(entries, entry, ',');) {
      int device = -1;
      if (!entry.empty() && entry.find_first_not_of("0123456789") == std::string::npos)
        device = std::atoi(entry.c_str());
      for (int i = 0; i < there; ++i) {
        if (entry.starts_with("GPU-") && Uuid(i).starts_with(entry)) device = i;
      }
      const bool again = std::find(visible_.begin(), visible_.end(), device) != visible_.end();
      if (device < 0 || device >= there || again) break;
      visible_.push_back(device);
    }
  }
  static std::string Uuid(int device) { return "GPU-00000000-0000-0000-0000-0000000000" + std::to_string(10 + device); }

  // The pools that `gone` names, and what of them is not on its way out already.
  template <typename Gone>
  void ForgetMemory(const Gone& gone) {
    for (auto block = blocks_.begin(); block != blocks_.end();) {
      const bool take = !block->second.freed && gone(block->second.pool);
      if (take) std::free(block->first);
      block = take ? blocks_.erase(block) : std::next(block);
    }
    std::erase_if(pools_, [&gone](const auto& row) { return gone(row.first); });
  }
  std::uint64_t Reserved(int device) const {
    std::uint64_t sum = 0;
    for (const auto& [raw, pool] : pools_) sum += pool->device == device ? pool->reserved : 0;
    return sum;
  }
  std::uint64_t Unreserved(int device) const {
    const std::uint64_t taken = Reserved(device) + script_.others_bytes;
    return script_.memory_bytes - std::min(taken, script_.memory_bytes);
  }
  // The host sees that the stream has come to its first `turn` frees.
  void Observe(const CUstream_st* stream, std::uint64_t turn) {
    if (stream == nullptr) return;
    for (auto& [raw, pool] : pools_) {
      Idle together;
      std::erase_if(pool->idle, [&](const Idle& one) {
        const bool seen = one.stream == nullptr || (one.stream == stream && one.turn <= turn);
        if (seen) together.bytes += one.bytes;
        return seen;
      });
      if (together.bytes > 0) pool->idle.push_back(together);
    }
  }
  static void Shrink(CUmemPoolHandle_st& pool, std::uint64_t keep) {
    std::erase_if(pool.idle, [&](Idle& one) {
      if (one.stream != nullptr || pool.reserved <= keep) return false;
      const std::uint64_t gone = std::min(one.bytes, pool.reserved - keep);
      pool.reserved -= gone;
      one.bytes -= gone;
      return one.bytes == 0;
    });
  }
  bool InDevice(const void* address, std::uint64_t bytes) const {
    auto block = blocks_.upper_bound(const_cast<void*>(address));
    if (block == blocks_.begin()) return false;
    --block;
    const auto begin = reinterpret_cast<std::uintptr_t>(block->first), at = reinterpret_cast<std::uintptr_t>(address);
    return !block->second.freed && at + bytes <= begin + block->second.bytes;
  }
  bool InPinned(const void* address, std::uint64_t bytes) const {
    auto block = pinned_.upper_bound(const_cast<void*>(address));
    if (block == pinned_.begin()) return false;
    --block;
    const auto begin = reinterpret_cast<std::uintptr_t>(block->first), at = reinterpret_cast<std::uintptr_t>(address);
    return at + bytes <= begin + block->second;
  }
  int Enqueue(CUstream_st* stream, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (!streams_.contains(stream)) {
      misuse_.emplace_back("work for an unknown stream");
      return kInvalidHandle;
    }
    stream->work.push_back(std::move(work));
    changed_.notify_all();
    return 0;
  }
  void Execute(CUstream_st& stream) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return (stream.stopping && stream.work.empty()) || (!held_ && !stream.work.empty()); });
      if (stream.work.empty()) return;
      const std::function<void()> work = std::move(stream.work.front());
      stream.work.pop_front();
      stream.busy = true;
      lock.unlock();
      work();
      lock.lock();
      stream.busy = false;
      changed_.notify_all();
    }
  }

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
};

// Lives as long as the process: streams of an unloaded plug-in may still use it.
Fake& TheFake() {
  static Fake* const fake = new Fake;
  return *fake;
}

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default")))

FAKE_API FakeCuda& fake_cuda() { return TheFake(); }

FAKE_API int cuInit(unsigned) { return TheFake().Init(); }
FAKE_API int cuDriverGetVersion(int* version) {
  *version = TheFake().script().version;
  return TheFake().Call("cuDriverGetVersion");
}
FAKE_API int cuGetErrorName(int error, const char** text) {
  *text = error == 0     ? "CUDA_SUCCESS"
          : error == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == 999 ? "CUDA_ERROR_UNKNOWN"
                         : nullptr;
  return *text != nullptr ? 0 : kInvalidValue;
}
FAKE_API int cuGetErrorString(int error, const char** text) {
  *text = error == 0     ? "no error"
          : error == 2   ? "out of memory"
          : error == 700 ? "an illegal memory access was encountered"
          : error == 999 ? "unknown error"
                         : nullptr;
  return *text != nullptr ? 0 : kInvalidValue;
}
FAKE_API int cuDeviceGetCount(int* count) { return TheFake().Count(count); }
FAKE_API int cuDeviceGet(int* device, int ordinal) { return TheFake().Device(device, ordinal); }
FAKE_API int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, TheFake().script().name.c_str(), length - 1);
  name[length - 1] = '\0';
  return TheFake().Call("cuDeviceGetName");
}
FAKE_API int cuDeviceGetUuid_v2(DriverUuid* uuid, int device) {
  *uuid = {};
  uuid->bytes[15] = static_cast<unsigned char>(0x10 + device);
  return TheFake().Call("cuDeviceGetUuid_v2");
}
FAKE_API int cuDeviceGetAttribute(int* value, int attribute, int) { return TheFake().Attribute(value, attribute); }
FAKE_API int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, length, "00000000:%02X:00.0", 0x60 + device);
  return TheFake().Call("cuDeviceGetPCIBusId");
}
FAKE_API int cuDevicePrimaryCtxRetain(CUctx_st** context, int device) { return TheFake().Retain(context, device); }
FAKE_API int cuDevicePrimaryCtxRelease_v2(int device) { return TheFake().ReleaseContext(device); }
FAKE_API int cuCtxSetCurrent(CUctx_st* context) {
  if (const int error = TheFake().Call("cuCtxSetCurrent")) return error;
  current = context;
  return 0;
}
FAKE_API int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) { return TheFake().MemoryInfo(free, total); }
FAKE_API int cuMemPoolCreate(CUmemPoolHandle_st** pool, const DriverPoolProperties* properties) {
  return TheFake().MakePool(pool, properties);
}
FAKE_API int cuMemPoolDestroy(CUmemPoolHandle_st* pool) { return TheFake().DestroyPool(pool); }
FAKE_API int cuMemPoolSetAttribute(CUmemPoolHandle_st* pool, int attribute, void* value) {
  return TheFake().PoolAttribute(pool, attribute, value, true);
}
FAKE_API int cuMemPoolGetAttribute(CUmemPoolHandle_st* pool, int attribute, void* value) {
  return TheFake().PoolAttribute(pool, attribute, value, false);
}
#ifndef FAKE_WITHOUT_TRIM
FAKE_API int cuMemPoolTrimTo(CUmemPoolHandle_st* pool, std::size_t keep) { return TheFake().Trim(pool, keep); }
#endif
FAKE_API int cuMemAllocFromPoolAsync(hotplate::DevicePointer* memory, std::size_t bytes, CUmemPoolHandle_st* pool,
                                     CUstream_st* stream) {
  return TheFake().Allocate(memory, bytes, pool, stream);
}
FAKE_API int cuMemFreeAsync(hotplate::DevicePointer memory, CUstream_st* stream) {
  return TheFake().Free(memory, stream);
}
FAKE_API int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) { return TheFake().Pin(memory, bytes); }
FAKE_API int cuMemFreeHost(void* memory) { return TheFake().Unpin(memory); }
FAKE_API int cuMemcpyHtoDAsync_v2(hotplate::DevicePointer to, const void* from, std::size_t bytes,
                                  CUstream_st* stream) {
  return TheFake().Copy("cuMemcpyHtoDAsync", reinterpret_cast<void*>(to), from, bytes, true, stream);
}
FAKE_API int cuMemcpyDtoHAsync_v2(void* to, hotplate::DevicePointer from, std::size_t bytes, CUstream_st* stream) {
  return TheFake().Copy("cuMemcpyDtoHAsync", to, reinterpret_cast<const void*>(from), bytes, false, stream);
}
FAKE_API int cuStreamCreate(CUstream_st** stream, unsigned) { return TheFake().MakeStream(stream); }
FAKE_API int cuStreamDestroy_v2(CUstream_st* stream) { return TheFake().DestroyStream(stream); }
FAKE_API int cuStreamQuery(CUstream_st* stream) { return TheFake().QueryStream(stream); }
FAKE_API int cuStreamSynchronize(CUstream_st* stream) { return TheFake().SynchronizeStream(stream); }
FAKE_API int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
  return TheFake().WaitEvent(stream, event);
}
FAKE_API int cuLaunchHostFunc(CUstream_st* stream, hotplate::HostFunction function, void* user) {
  return TheFake().LaunchHost(stream, function, user);
}
FAKE_API int cuEventCreate(CUevent_st** event, unsigned flags) { return TheFake().MakeEvent(event, flags); }
FAKE_API int cuEventDestroy_v2(CUevent_st* event) { return TheFake().DestroyEvent(event); }
FAKE_API int cuEventRecord(CUevent_st* event, CUstream_st* stream) { return TheFake().Record(event, stream); }
FAKE_API int cuEventQuery(CUevent_st* event) { return TheFake().QueryEvent(event); }
FAKE_API int cuEventSynchronize(CUevent_st* event) { return TheFake().SynchronizeEvent(event); }
FAKE_API int cuEventElapsedTime(float* milliseconds, CUevent_st* from, CUevent_st* to) {
  return TheFake().ElapsedTime(milliseconds, from, to);
}
