#include "tests/unit/cuda/expressions/host_code.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <regex>

#include "tests/unit/cuda/emulation/grid.h"

extern "C" void hotplate_emulated_barrier() { hotplate::emulation::WaitForBlock("barrier", false); }

namespace hotplate::emulation {

HostCode::HostCode(const std::string& source, const std::string& folder) {
  const std::string host = folder + "/text.cpp", library = folder + "/text.so";
  std::ofstream(folder + "/text.cu") << source;
  std::ofstream out(host);
  out << "#include \"tests/unit/cuda/expressions/printed_device.h\"\n" << source;
  const bool by_pointer = source.find("const P* const block") != std::string::npos;
  const std::regex function(R"re(extern "C" __global__ void (?:__launch_bounds__\(256\) )?(\w+)\()re");
  for (std::sregex_iterator at(source.begin(), source.end(), function), end; at != end; ++at) {
    out << "extern \"C\" void run_" << (*at)[1] << "(void** p) { " << (*at)[1] << "("
        << (by_pointer ? "*(const P* const*)p[0]" : "*(const P*)p[0]") << ", *(U64*)p[1], *(U64*)p[2]); }\n";
  }
  out.close();
  const std::string command = std::string(HOTPLATE_HOST_COMPILER) +
                              " -std=c++17 -O0 -w -ffp-contract=off -fno-strict-aliasing -fPIC -shared -I " +
                              HOTPLATE_SOURCE_DIR + " " + host + " -o " + library;
  if (std::system(command.c_str()) != 0) {
    error_ = "the text does not compile: " + host;
    return;
  }
  opened_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened_ == nullptr) error_ = dlerror();
}

HostCode::~HostCode() {
  if (opened_ != nullptr) dlclose(opened_);
}

bool HostCode::Run(const std::string& function, unsigned blocks, unsigned threads, void** parameters) const {
  const auto run = reinterpret_cast<void (*)(void**)>(dlsym(opened_, ("run_" + function).c_str()));
  if (run == nullptr) return false;
  RunGrid(blocks, threads, [&] { run(parameters); });
  return true;
}

}  // namespace hotplate::emulation
