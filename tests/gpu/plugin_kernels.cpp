// What a CUDA plug-in says of its kernels: a JSON object of their names and of CUDA's libraries that they call. Needs
// neither a device nor a driver.
//   hotplate_plugin_kernels PLUGIN          {"matmul": "libcublasLt.so.13", "selu": null}
// Exit status: 0; 2 wrong usage or no plug-in of this release.
#include <dlfcn.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "kernels/devices/cuda/plugin/plugin_abi.h"

namespace hotplate {
namespace {

int Fail(const std::string& why) {
  std::cerr << "hotplate_plugin_kernels: " << why << "\n";
  return 2;
}

std::string Release(std::uint64_t version, std::uint64_t table_bytes, std::uint64_t kernel_bytes) {
  return "version " + std::to_string(version) + " of the table, of " + std::to_string(table_bytes) + " bytes and " +
         std::to_string(kernel_bytes) + " a kernel";
}

int Main(const std::string& path) {
  void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return Fail(dlerror());
  const auto entry = reinterpret_cast<hotplate_cuda_plugin_function>(dlsym(plugin, HOTPLATE_CUDA_ENTRY_POINT));
  if (entry == nullptr) return Fail(path + " has no symbol " HOTPLATE_CUDA_ENTRY_POINT);
  const hotplate_cuda_table* const table = entry();
  if (table->abi_version != HOTPLATE_CUDA_ABI_VERSION || table->table_bytes != sizeof *table ||
      table->kernel_bytes != sizeof(hotplate_cuda_kernel)) {
    return Fail(path +
                " is of another release: " + Release(table->abi_version, table->table_bytes, table->kernel_bytes) +
                ", not " + Release(HOTPLATE_CUDA_ABI_VERSION, sizeof *table, sizeof(hotplate_cuda_kernel)));
  }
  std::string text;
  for (int i = 0; i < table->kernel_count; ++i) {
    const hotplate_cuda_kernel& kernel = table->kernels[i];
    text += text.empty() ? "\"" : ", \"";
    text += kernel.name;
    text += kernel.library == nullptr ? "\": null" : "\": \"" + std::string(kernel.library) + "\"";
  }
  std::cout << "{" << text << "}\n";
  return 0;
}

}  // namespace
}  // namespace hotplate

int main(int argc, char** argv) {
  return argc == 2 ? hotplate::Main(argv[1]) : hotplate::Fail("usage: hotplate_plugin_kernels PLUGIN");
}
