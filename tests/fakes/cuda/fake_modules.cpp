// Modules of the fake driver: what stands for a device's code is a shared object of the host's, which has each function
// NAME as `void run_NAME(void** parameters, unsigned blocks, unsigned threads)`, and the number
// `hotplate_parameter_bytes`: of the first parameter. All functions take that one and two of 8 bytes
// (tests/fakes/cuda/compile_for_host.py makes such code of printed expressions).
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/fakes/cuda/fake_driver.h"

struct CUmod_st {
  void* opened = nullptr;
  std::uint64_t parameter_bytes = 0;
};
struct CUfunc_st {
  CUmod_st* module = nullptr;
  void (*run)(void** parameters, unsigned blocks, unsigned threads) = nullptr;
};

namespace hotplate {
namespace {

constexpr int kInvalidImage = 200, kNotFound = 500;

// The table of sections ends an object file.
std::uint64_t BytesOf(const void* code) {
  Elf64_Ehdr head;
  std::memcpy(&head, code, sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return head.e_shoff + std::uint64_t{head.e_shentsize} * head.e_shnum;
}

// By way of a file with a name of its own: dlopen knows what is open by its name.
void* OpenObject(const void* code) {
  const std::uint64_t bytes = BytesOf(code);
  char name[] = "/tmp/fake-module-XXXXXX";
  const int file = mkstemp(name);
  void* opened = nullptr;
  if (bytes > 0 && write(file, code, bytes) == static_cast<ssize_t>(bytes))
    opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  close(file);
  unlink(name);
  return opened;
}

}  // namespace

int FakeDriver::LoadModule(CUmod_st** module, const void* code) {
  if (const int error = CallInContext("cuModuleLoadData")) return error;
  void* const opened = OpenObject(code);
  if (opened == nullptr) return kInvalidImage;
  auto made = std::make_unique<CUmod_st>();
  made->opened = opened;
  if (void* const bytes = dlsym(opened, "hotplate_parameter_bytes"); bytes != nullptr) {
    made->parameter_bytes = *static_cast<const std::uint64_t*>(bytes);
  }
  *module = made.release();
  const std::lock_guard lock(mutex_);
  ++modules_;
  return 0;
}

int FakeDriver::UnloadModule(CUmod_st* module) {
  if (const int error = CallInContext("cuModuleUnload")) return error;
  const std::lock_guard lock(mutex_);
  --modules_;
  for (auto function = functions_.begin(); function != functions_.end();) {
    function = (*function)->module == module ? functions_.erase(function) : std::next(function);
  }
  dlclose(module->opened);
  delete module;
  return 0;
}

int FakeDriver::FunctionOf(CUfunc_st** function, CUmod_st* module, const char* name) {
  if (const int error = CallInContext("cuModuleGetFunction")) return error;
  void* const run = dlsym(module->opened, (std::string("run_") + name).c_str());
  if (run == nullptr) return kNotFound;
  auto made = std::make_shared<CUfunc_st>();
  made->module = module;
  made->run = reinterpret_cast<decltype(made->run)>(run);
  *function = made.get();
  const std::lock_guard lock(mutex_);
  functions_.push_back(std::move(made));
  return 0;
}

int FakeDriver::LaunchFunction(CUfunc_st* function, unsigned blocks, unsigned threads, CUstream_st* stream,
                               void** parameters) {
  if (const int error = CallInContext("cuLaunchKernel")) return error;
  if (blocks == 0 || threads == 0 || threads > 1024) return kInvalidValue;
  // Parameters are copied at once, as a driver does.
  struct Given {
    std::vector<std::byte> block;
    std::uint64_t begin = 0, end = 0;
  };
  auto given = std::make_shared<Given>();
  const auto* const first = static_cast<const std::byte*>(parameters[0]);
  given->block.assign(first, first + function->module->parameter_bytes);
  std::memcpy(&given->begin, parameters[1], 8);
  std::memcpy(&given->end, parameters[2], 8);
  return Enqueue(stream, [run = function->run, given, blocks, threads] {
    void* addresses[] = {given->block.data(), &given->begin, &given->end};
    run(addresses, blocks, threads);
  });
}

}  // namespace hotplate
