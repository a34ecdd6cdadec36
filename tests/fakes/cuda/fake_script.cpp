// What a test tells the fake driver to be, what it asks it, and how calls fail.
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "tests/fakes/cuda/fake_driver.h"

namespace hotplate {

FakeDriver::FakeDriver() {
  // What the device has given back is not the process's any more, as with a real one.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  for (int i = 0; i < kMostDevices; ++i) contexts_[i].device = i;
  if (const char* text = std::getenv("FAKE_CUDA")) script_ = Parsed(text);
}

void FakeDriver::Reset(const FakeScript& script) {
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

void FakeDriver::Change(const FakeScript& script) {
  const std::lock_guard lock(mutex_);
  script_ = script;
  failures_ = 0;
}

FakeScript FakeDriver::script() {
  const std::lock_guard lock(mutex_);
  return script_;
}

std::vector<std::string> FakeDriver::Calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void FakeDriver::ForgetCalls() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
}

void FakeDriver::Hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void FakeDriver::Release() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  changed_.notify_all();
}

FakeCounts FakeDriver::Counts() {
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
  counts.modules = modules_;
  return counts;
}

std::vector<std::string> FakeDriver::Misuse() {
  const std::lock_guard lock(mutex_);
  return misuse_;
}

void FakeDriver::Break(void* stream, int error) {
  const std::lock_guard lock(mutex_);
  static_cast<CUstream_st*>(stream)->context->broken = error;
  changed_.notify_all();
}

void FakeDriver::WaitForBreak() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return std::any_of(std::begin(contexts_), std::end(contexts_), [](const CUctx_st& c) { return c.broken != 0; });
  });
}

int FakeDriver::Call(const char* name, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(bytes == UINT64_MAX ? name : std::string(name) + " " + std::to_string(bytes));
  if (script_.fail_at > 0 && (script_.fail_call.empty() || script_.fail_call == name) &&
      ++failures_ == script_.fail_at) {
    return script_.fail_code;
  }
  return 0;
}

int FakeDriver::CallInContext(const char* name, std::uint64_t bytes) {
  if (const int error = Call(name, bytes)) return error;
  if (current_ == nullptr) return kInvalidContext;
  return current_->broken;
}

FakeScript FakeDriver::Parsed(const std::string& text) {
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
    if (key == "no_peers") script.peers = false;
    if (key == "heals") script.heals = true;
    if (key == "no_code") script.no_code = true;
    if (key == "memory_bytes") script.memory_bytes = std::strtoull(value.c_str(), nullptr, 10);
    if (key == "others_bytes") script.others_bytes = std::strtoull(value.c_str(), nullptr, 10);
    if (key == "breaking_kernel") script.breaking_kernels[value] = kDriverIllegalAddress;
  }
  return script;
}

FakeDriver& TheFakeDriver() {
  static FakeDriver* const fake = new FakeDriver;
  return *fake;
}

}  // namespace hotplate
