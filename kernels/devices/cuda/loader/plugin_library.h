// An open CUDA plug-in whose table fits this program. Needs no CUDA to compile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/devices/cuda/compiler/compiler.h"
#include "kernels/devices/cuda/loader/needed_libraries.h"
#include "kernels/devices/cuda/plugin/plugin_abi.h"
#include "kernels/spec/spec.h"

namespace hotplate {

class PluginLibrary {
 public:
  // Opens the file and checks the table's version and sizes. Refusals are one sentence that names the file. What its
  // kernels need of CUDA's libraries is looked for, not opened.
  static absl::StatusOr<std::shared_ptr<PluginLibrary>> Open(const std::string& path, const Catalog& catalog,
                                                             LibrarySearch search,
                                                             std::function<void(const std::string&)> log,
                                                             const CompilerOptions& compiler = {});
  // Never unloads a plug-in that has talked to the driver: its threads and the driver's may still be in it.
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const hotplate_cuda_table& table() const { return *table_; }
  // For table().open_device.
  static void Log(void* library, const char* line);
  static void Compile(void* library, const char* compiler, const char* source, std::int32_t compute,
                      hotplate_cuda_take take, void* to, std::int32_t* cache_hit, hotplate_outcome* outcome);

  // "libhotplate_cuda13.so"
  const std::string& file_name() const { return file_name_; }
  // The kernels whose spec matches the catalogue's.
  bool Has(const std::string& kernel) const { return hashes_.contains(kernel); }
  // Their specs' hashes; the kernel must be one of them.
  const std::string& HashOf(const std::string& kernel) const { return hashes_.at(kernel); }
  // A kernel of the catalogue that no plug-in has.
  bool IsCpuOnly(const std::string& kernel) const { return cpu_only_.contains(kernel); }
  NeededLibraries& libraries() const { return *libraries_; }
  // Why kernels of the catalogue are not among them, one sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  // The driver is about to be used through this plug-in: keep it for good.
  void Pin() { pinned_ = true; }

 private:
  PluginLibrary(void* handle, std::string file_name, std::function<void(const std::string&)> log,
                const CompilerOptions& compiler)
      : handle_(handle), file_name_(std::move(file_name)), log_(std::move(log)), compiler_(compiler) {}
  void CompareKernels(const Catalog& catalog, LibrarySearch search);
  // Kernels with a compiler need the program that runs it.
  void LookForCompiler(const CompilerOptions& options);

  void* const handle_;
  const std::string file_name_;
  const std::function<void(const std::string&)> log_;
  const hotplate_cuda_table* table_ = nullptr;
  std::map<std::string, std::string> hashes_;  // by kernel
  std::set<std::string> cpu_only_;             // kernels
  std::unique_ptr<NeededLibraries> libraries_;
  CudaCompiler compiler_;
  std::vector<std::string> notes_;
  bool has_compilers_ = false;
  bool pinned_ = false;
};

}  // namespace hotplate
