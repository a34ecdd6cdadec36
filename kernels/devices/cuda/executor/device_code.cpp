#include "kernels/devices/cuda/executor/device_code.h"

#include <chrono>
#include <utility>

namespace hotplate {

Outcome LoadedCode::Find(const char* name, CUfunc_st*& function) {
  const MutexLock lock(mutex_);
  CUfunc_st*& known = functions_[name];
  if (known == nullptr) {
    const Outcome found = driver_.Check(driver_.cuModuleGetFunction(&known, module_.get(), name),
                                        std::string("finding ") + name + " in compiled code");
    if (!found.ok()) known = nullptr;
    if (!found.ok()) return found;
  }
  function = known;
  return Outcome::Ok();
}

Outcome DeviceCode::Compile(const char* compiler, const std::string& source, int compute, std::string& cubin,
                            int& cache_hit) const {
  if (options_.compile == nullptr) return Outcome::Failed("this process compiles no device code");
  const auto take = [](void* to, const void* code, std::uint64_t bytes) {
    static_cast<std::string*>(to)->assign(static_cast<const char*>(code), bytes);
  };
  hotplate_outcome plain{};
  std::int32_t hit = 0;
  options_.compile(options_.compile_user, compiler, source.c_str(), compute, take, &cubin, &hit, &plain);
  cache_hit = hit;
  return Outcome(plain);
}

Outcome DeviceCode::Get(const char* compiler, const std::string& source, int compute, std::shared_ptr<LoadedCode>& code,
                        CodeTimes& times) {
  const auto begin = std::chrono::steady_clock::now();
  code = kept_.Find(source);
  if (code != nullptr) {
    if (times.cache_hit < 0) times.cache_hit = 1;
    return Outcome::Ok();
  }
  std::string cubin;
  int cache_hit = 0;
  if (const Outcome o = Compile(compiler, source, compute, cubin, cache_hit); !o.ok()) return o;
  CUmod_st* raw = nullptr;
  if (const Outcome o = driver_.Check(driver_.cuModuleLoadData(&raw, cubin.data()), "loading compiled code"); !o.ok()) {
    return o;
  }
  code = std::make_shared<LoadedCode>(driver_, OwnedModule(raw, {driver_.cuModuleUnload}));
  times.cache_hit = cache_hit;
  times.compile_ns =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  kept_.Add(source, code);  // where another lane was as fast, each has its own
  return Outcome::Ok();
}

}  // namespace hotplate
