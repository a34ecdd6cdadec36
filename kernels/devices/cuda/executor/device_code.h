// Device code that is compiled when a kernel wants it, loaded into a device's context and kept there for the next call.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/base/mutex.h"
#include "kernels/devices/cuda/executor/context.h"
#include "kernels/devices/cuda/executor/driver.h"
#include "kernels/devices/cuda/plugin/plugin_abi.h"

namespace hotplate {

// A loaded module. Destroyed with the context current, and with nothing of it in flight.
class LoadedCode {
 public:
  LoadedCode(const Driver& driver, OwnedModule module) : driver_(driver), module_(std::move(module)) {}

  // FAILED: there is no such function. Any thread, with the context current.
  Outcome Find(const char* name, CUfunc_st*& function);

 private:
  const Driver& driver_;
  const OwnedModule module_;
  Mutex mutex_;
  std::map<std::string, CUfunc_st*> functions_ ABSL_GUARDED_BY(mutex_);
};

class DeviceCode {
 public:
  static constexpr std::size_t kMostModules = 128;

  DeviceCode(const Driver& driver, const hotplate_cuda_device_options& options) : driver_(driver), options_(options) {}

  // The code of this text for compute capability `compute`, compiled by `compiler`. Any thread, with the context
  // current. OUT_OF_MEMORY: it does not fit the device. Another failure: it cannot be compiled, and why.
  Outcome Get(const char* compiler, const std::string& source, int compute, std::shared_ptr<LoadedCode>& code,
              CodeTimes& times);
  // With the context current.
  void Clear();

 private:
  struct Kept {
    std::string source;
    std::shared_ptr<LoadedCode> code;
  };

  std::shared_ptr<LoadedCode> Found(const std::string& source);
  Outcome Compile(const char* compiler, const std::string& source, int compute, std::string& cubin,
                  int& cache_hit) const;

  const Driver& driver_;
  const hotplate_cuda_device_options& options_;
  Mutex mutex_;
  std::list<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // the last used first
  std::map<std::string_view, std::list<Kept>::iterator> by_source_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate
