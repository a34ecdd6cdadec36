// Device code that is compiled when a kernel wants it, loaded into a device's context and kept there for the next call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kernels/base/last_used.h"
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
  void Clear() { kept_.Clear(); }

 private:
  Outcome Compile(const char* compiler, const std::string& source, int compute, std::string& cubin,
                  int& cache_hit) const;

  const Driver& driver_;
  const hotplate_cuda_device_options& options_;
  LastUsed<std::shared_ptr<LoadedCode>> kept_{kMostModules};  // by their texts
};

}  // namespace hotplate
