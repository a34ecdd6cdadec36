#include "kernels/devices/cuda/loader/plugin_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "kernels/catalogue/expression/expression_spec.h"
#include "kernels/devices/cuda/loader/installed_driver.h"

namespace hotplate {
namespace {

// More kernels than any of our plug-ins has: a table that claims more is not read.
constexpr int kMostKernels = 10'000;

// A difference between the table's structs and this program's; empty if there is none.
std::string SizeMismatch(const hotplate_cuda_table& table) {
  const struct {
    const char* name;
    std::uint32_t theirs;
    std::size_t ours;
  } sizes[] = {
      {"call", table.call_bytes, sizeof(hotplate_call)},
      {"array", table.array_bytes, sizeof(hotplate_array)},
      {"parameter", table.param_bytes, sizeof(hotplate_param)},
      {"control", table.control_bytes, sizeof(hotplate_control)},
      {"kernel", table.kernel_bytes, sizeof(hotplate_cuda_kernel)},
      {"device options", table.device_options_bytes, sizeof(hotplate_cuda_device_options)},
      {"device info", table.device_info_bytes, sizeof(hotplate_cuda_device_info)},
      {"report", table.report_bytes, sizeof(hotplate_cuda_report)},
      {"sample", table.sample_bytes, sizeof(hotplate_cuda_sample)},
  };
  for (const auto& size : sizes) {
    if (size.theirs != size.ours) {
      return absl::StrCat("its ", size.name, " struct has ", size.theirs, " bytes, this program's has ", size.ours);
    }
  }
  return "";
}

bool Complete(const hotplate_cuda_table& table) {
  return table.plugin_version != nullptr && table.architectures != nullptr && table.kernel_count >= 0 &&
         table.kernel_count <= kMostKernels && (table.kernel_count == 0 || table.kernels != nullptr) &&
         table.open_device != nullptr && table.close_device != nullptr && table.open_lane != nullptr &&
         table.close_lane != nullptr && table.plan != nullptr && table.use_library != nullptr &&
         table.run_task != nullptr && table.upload != nullptr && table.fetch != nullptr && table.forget != nullptr &&
         table.free_bytes != nullptr && table.sample != nullptr;
}

}  // namespace

absl::StatusOr<std::shared_ptr<PluginLibrary>> PluginLibrary::Open(const std::string& path, const Catalog& catalog,
                                                                   LibrarySearch search,
                                                                   std::function<void(const std::string&)> log,
                                                                   const CompilerOptions& compiler) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto refuse = [&name](const std::string& why) {
    return absl::FailedPreconditionError(absl::StrCat(name, " is not used: ", why));
  };
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return refuse(why != nullptr ? why : "it cannot be opened");
  }
  const std::shared_ptr<PluginLibrary> library(new PluginLibrary(handle, name, std::move(log), compiler));
  const auto entry = reinterpret_cast<hotplate_cuda_plugin_function>(dlsym(handle, HOTPLATE_CUDA_ENTRY_POINT));
  if (entry == nullptr) return refuse(absl::StrCat("it has no symbol ", HOTPLATE_CUDA_ENTRY_POINT));
  const hotplate_cuda_table* const table = entry();
  if (table == nullptr) return refuse("it returned no table");
  if (table->abi_version != HOTPLATE_CUDA_ABI_VERSION) {
    return refuse(absl::StrCat("it speaks version ", table->abi_version, " of the plug-in table, this program version ",
                               HOTPLATE_CUDA_ABI_VERSION, "; install both from the same release"));
  }
  if (table->table_bytes != sizeof *table) {
    return refuse(absl::StrCat("its table has ", table->table_bytes, " bytes, this program's has ", sizeof *table));
  }
  if (const std::string mismatch = SizeMismatch(*table); !mismatch.empty()) return refuse(mismatch);
  if (!Complete(*table)) return refuse("its table has empty places");
  library->table_ = table;
  library->CompareKernels(catalog, std::move(search));
  library->LookForCompiler(compiler);
  return library;
}

PluginLibrary::~PluginLibrary() {
  if (!pinned_) dlclose(handle_);
}

void PluginLibrary::CompareKernels(const Catalog& catalog, LibrarySearch search) {
  std::map<std::string, std::string> theirs, needed, compilers;
  for (int i = 0; i < table_->kernel_count; ++i) {
    const hotplate_cuda_kernel& kernel = table_->kernels[i];
    if (kernel.name != nullptr && kernel.spec_hash != nullptr) theirs.emplace(kernel.name, kernel.spec_hash);
    if (kernel.name != nullptr && kernel.library != nullptr) needed.emplace(kernel.name, kernel.library);
    if (kernel.name != nullptr && kernel.compiler != nullptr) compilers.emplace(kernel.name, kernel.compiler);
  }
  const auto compare = [&](const std::string& name, const std::string& hash) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) {
      notes_.push_back(absl::StrCat(file_name_, " (Hotplate ", table_->plugin_version, ", CUDA ",
                                    CudaVersionText(table_->cuda_runtime_version), ") has no kernel ", name));
    } else if (found->second != hash) {
      notes_.push_back(absl::StrCat("kernel ", name, " of ", file_name_, " (Hotplate ", table_->plugin_version,
                                    ") is not used: its spec's hash is ", found->second, ", the catalogue's is ", hash,
                                    "; install both from the same release"));
    } else {
      hashes_.emplace(name, hash);
    }
  };
  for (const SharedSpec& spec : catalog.specs()) {
    if (spec->cpu_only()) {
      cpu_only_.insert(spec->name());
    } else {
      compare(spec->name(), spec->Hash());
    }
  }
  // Not in the catalogue: its specs are made for each text.
  compare(expression::kKernel, expression::SpecHash());
  std::erase_if(needed, [this](const auto& row) { return !Has(row.first); });
  std::erase_if(compilers, [this](const auto& row) { return !Has(row.first); });
  has_compilers_ = !compilers.empty();
  libraries_ = std::make_unique<NeededLibraries>(needed, std::move(search), log_, compilers);
  notes_.insert(notes_.end(), libraries_->missing().begin(), libraries_->missing().end());
}

void PluginLibrary::LookForCompiler(const CompilerOptions& options) {
  if (!has_compilers_) return;
  const std::string& program = options.program;
  if (access(program.c_str(), X_OK) == 0) {
    if (options.folder.empty()) return;
    if (const std::string why = compiler_.cache().trouble(); !why.empty()) {
      notes_.push_back(absl::StrCat("compiled expressions are kept in memory only: ", why));
    }
    return;
  }
  const std::string why = absl::StrCat("the program ", program.empty() ? "hotplate-nvrtc" : program,
                                       " is missing; install all of Hotplate's files");
  notes_.push_back(absl::StrCat("no CUDA device compiles expressions: ", why));
  libraries_->RefuseCompilers(absl::FailedPreconditionError(why));
}

void PluginLibrary::Compile(void* library, const char* compiler, const char* source, std::int32_t compute,
                            hotplate_cuda_take take, void* to, std::int32_t* cache_hit, hotplate_outcome* outcome) {
  PluginLibrary& self = *static_cast<PluginLibrary*>(library);
  const absl::StatusOr<std::string> path = self.libraries_->CompilerPath(compiler);
  absl::StatusOr<CompiledCode> code = path.ok() ? self.compiler_.Compile(source, compute, *path) : path.status();
  if (!code.ok()) {
    // If the compiler had not enough time or memory, it is the caller who can make the text shorter.
    const bool too_much = absl::IsDeadlineExceeded(code.status()) || absl::IsResourceExhausted(code.status());
    const std::string_view why = ToStd(code.status().message());
    *outcome = (too_much ? Outcome::Invalid(why) : Outcome::Failed(why)).plain();
    return;
  }
  take(to, code->cubin->data(), code->cubin->size());
  *cache_hit = code->was_there ? 1 : 0;
  *outcome = Outcome::Ok().plain();
}

void PluginLibrary::Log(void* library, const char* line) {
  const PluginLibrary& self = *static_cast<PluginLibrary*>(library);
  if (self.log_ && line != nullptr) self.log_(line);
}

}  // namespace hotplate
