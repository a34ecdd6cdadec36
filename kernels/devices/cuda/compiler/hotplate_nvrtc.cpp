// hotplate-nvrtc: compiles CUDA C++ to a cubin with a given NVRTC library, and ends. A compiler can be made to take
// minutes and gigabytes, and crashes; as a process of its own it can be killed, and leaves nothing behind in the
// daemon. Needs neither the CUDA Toolkit to be built, nor a GPU or a driver to run.
//
// usage: hotplate-nvrtc LIBRARY MOST_BYTES OPTION... < text.cu > text.cubin
// LIBRARY is the path of libnvrtc.so.<major>. More memory than MOST_BYTES is refused. Status 1: the text does not
// compile, and standard error has the compiler's log. Status 2: the library cannot be used, and standard error says
// why in one line. Status 3: there is not enough memory.
#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int kDoesNotCompile = 1, kUnusable = 2, kNoMemory = 3;

// As nvrtc.h declares them since CUDA 11.1.
struct Nvrtc {
  using Handle = struct HotplateNvrtcProgram*;
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int error) = nullptr;
  int (*create)(Handle* program, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names) = nullptr;
  int (*compile)(Handle program, int count, const char* const* options) = nullptr;
  int (*log_size)(Handle program, std::size_t* bytes) = nullptr;
  int (*log)(Handle program, char* text) = nullptr;
  int (*cubin_size)(Handle program, std::size_t* bytes) = nullptr;
  int (*cubin)(Handle program, char* bytes) = nullptr;
};

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  // Not by way of the library's destructors.
  std::fflush(stderr);
  _exit(kUnusable);
}

template <typename Function>
void Take(void* opened, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(opened, symbol));
  if (function == nullptr) Die(std::string("it has no function ") + symbol);
}

Nvrtc Open(const std::string& path) {
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) Die(dlerror());
  Nvrtc nvrtc;
  Take(opened, "nvrtcVersion", nvrtc.version);
  Take(opened, "nvrtcGetErrorString", nvrtc.error_string);
  Take(opened, "nvrtcCreateProgram", nvrtc.create);
  Take(opened, "nvrtcCompileProgram", nvrtc.compile);
  Take(opened, "nvrtcGetProgramLogSize", nvrtc.log_size);
  Take(opened, "nvrtcGetProgramLog", nvrtc.log);
  Take(opened, "nvrtcGetCUBINSize", nvrtc.cubin_size);
  Take(opened, "nvrtcGetCUBIN", nvrtc.cubin);
  // NVRTC opens its second library by its bare name, and has no RUNPATH that leads to its own folder. One that is open
  // already is found by its name.
  int major = 0, minor = 0;
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && nvrtc.version(&major, &minor) == 0) {
    const std::string builtins =
        path.substr(0, slash) + "/libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
    static_cast<void>(dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL));
  }
  return nvrtc;
}

std::string ReadAll(std::FILE* file) {
  std::string text;
  char piece[1 << 14];
  for (std::size_t got = 0; (got = std::fread(piece, 1, sizeof piece, file)) > 0;) text.append(piece, got);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) Die("usage: hotplate-nvrtc LIBRARY MOST_BYTES OPTION... < text.cu > text.cubin");
  // Not longer than the daemon, nor with a dump of its memory, nor with more rights by a set-uid program: its text
  // comes from clients.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit most{std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[2], nullptr, 10)};
  if (most.rlim_cur > 0) setrlimit(RLIMIT_DATA, &most);
  // The first to go when memory runs out, before the daemon.
  if (std::FILE* const score = std::fopen("/proc/self/oom_score_adj", "w"); score != nullptr) {
    std::fputs("500", score);
    std::fclose(score);
  }
  const Nvrtc nvrtc = Open(argv[1]);
  const std::string source = ReadAll(stdin);
  Nvrtc::Handle program = nullptr;
  if (const int error = nvrtc.create(&program, source.c_str(), "expression.cu", 0, nullptr, nullptr); error != 0) {
    Die(std::string("nvrtcCreateProgram: ") + nvrtc.error_string(error));
  }
  const std::vector<const char*> options(argv + 3, argv + argc);
  if (const int error = nvrtc.compile(program, static_cast<int>(options.size()), options.data()); error != 0) {
    std::size_t bytes = 0;
    std::string log;
    if (nvrtc.log_size(program, &bytes) == 0) log.resize(bytes);
    if (bytes > 0 && nvrtc.log(program, log.data()) == 0) log.resize(bytes - 1);
    std::fprintf(stderr, "%s: %s\n", nvrtc.error_string(error), log.c_str());
    std::fflush(stderr);
    constexpr int kOutOfMemory = 1, kCompilation = 6;  // NVRTC_ERROR_…
    _exit(error == kCompilation ? kDoesNotCompile : error == kOutOfMemory ? kNoMemory : kUnusable);
  }
  std::size_t bytes = 0;
  if (const int error = nvrtc.cubin_size(program, &bytes); error != 0) {
    Die(std::string("nvrtcGetCUBINSize: ") + nvrtc.error_string(error));
  }
  std::string cubin(bytes, '\0');
  if (const int error = nvrtc.cubin(program, cubin.data()); error != 0) {
    Die(std::string("nvrtcGetCUBIN: ") + nvrtc.error_string(error));
  }
  if (std::fwrite(cubin.data(), 1, cubin.size(), stdout) != cubin.size() || std::fflush(stdout) != 0) {
    Die("the cubin cannot be written");
  }
  _exit(0);
}
