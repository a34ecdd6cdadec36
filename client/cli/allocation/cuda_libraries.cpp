#include "client/cli/allocation/cuda_libraries.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "client/cli/terminal/format.h"

namespace hotplate::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kRefused[] = "on GPUs matmul, fft, svd and the others that call CUDA's libraries will be refused";

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The number after `word` in the text, with non-digits between the two allowed; nothing without one.
std::optional<int> NumberBehind(const std::string& text, std::string_view word) {
  std::size_t at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_of("0123456789", at + word.size());
  if (at == std::string::npos) return std::nullopt;
  int number = 0;
  for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0 && number < 1000; ++at)
    number = number * 10 + (text[at] - '0');
  return number;
}

// The major versions of the plug-ins (libhotplate_cuda13.so) where the daemon looks for them: beside it, or, of a
// bundle, where the program lies that its bin/hotplated starts.
std::set<int> PluginsOf(const std::string& program) {
  const fs::path folder = fs::path(program).parent_path();
  std::set<int> majors;
  for (const fs::path& one : {folder, folder.parent_path() / "libexec/hotplate"}) {
    std::error_code error;
    for (fs::directory_iterator entry(one, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (!name.starts_with("libhotplate_cuda") || !name.ends_with(".so")) continue;
      if (const auto major = NumberBehind(name, "cuda")) majors.insert(*major);
    }
  }
  return majors;
}

// "libhotplate_cuda12.so and libhotplate_cuda13.so"
std::string Names(const std::set<int>& plugins) {
  std::string names;
  for (const int major : plugins)
    names += (names.empty() ? "" : " and ") + ("libhotplate_cuda" + std::to_string(major) + ".so");
  return names;
}

// "12 or 13"
std::string Numbers(const std::set<int>& plugins) {
  std::string numbers;
  for (const int major : plugins) numbers += (numbers.empty() ? "" : " or ") + std::to_string(major);
  return numbers;
}

// The command that puts the libraries for the newest of the plug-ins into the user's own Python packages.
std::string PipCommand(const std::set<int>& plugins) {
  const std::string suffix = *plugins.rbegin() >= 13 ? "" : "-cu" + std::to_string(*plugins.rbegin());
  return "pip install --user nvidia-cublas" + suffix + " nvidia-cufft" + suffix + " nvidia-cusolver" + suffix;
}

// Whether the batch job will inherit the place of a CUDA, or has one in the user's own Python packages.
bool HasOwn(const Site& site, const Environment& environment) {
  for (const std::string name : {"HOTPLATE_CUDA_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "EBROOTCUDA",
                                 "CUDATOOLKIT_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (!environment(name).value_or("").empty()) return true;
    for (const std::string& line : site.exports)
      if (line.starts_with(name + "=")) return true;
  }
  const std::string home = environment("HOME").value_or("");
  if (home.empty()) return false;
  std::error_code error;
  for (fs::directory_iterator entry(home + "/.local/lib", error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code none;
    if (fs::is_directory(entry->path() / "site-packages/nvidia", none)) return true;
  }
  return false;
}

}  // namespace

std::string CudaLibrariesText(const Site& site, const std::string& program, const Environment& environment) {
  std::error_code error;
  if (!fs::exists(program, error)) return "";
  const std::set<int> plugins = PluginsOf(program);
  if (plugins.empty())
    return "there is no CUDA plug-in (libhotplate_cuda13.so) beside " + program +
           ", so no GPU can be used: install hotplate from a release, or build it where nvcc is";
  const std::string own = "in a profile of your own (extends = \"" + site.name + "\")";
  for (const std::string& module : site.modules) {
    const auto major = NumberBehind(Lower(module), "cuda");
    if (!major) continue;
    if (plugins.contains(*major)) return "";
    return site.name + " loads " + module + ", and " + Names(plugins) + " beside hotplated calls libraries of CUDA " +
           Numbers(plugins) + ": " + kRefused + ". Name a module of CUDA " + Numbers(plugins) + " " + own +
           ", or: " + PipCommand(plugins);
  }
  // Modules by other names may bring it: the daemon will say.
  if (!site.modules.empty() || HasOwn(site, environment)) return "";
  if (!site.first_module.empty())
    return site.name + " loads the first of the modules " + Join(site.first_module, ", ") +
           " that exists. If none does, or it is not CUDA " + Numbers(plugins) + ", " + kRefused +
           ". To be sure, name one (it may be found by: module spider cuda) as modules " + own;
  return site.name + " loads no CUDA module: " + kRefused + ", unless the nodes have CUDA " + Numbers(plugins) +
         " in /usr/local/cuda. Load the site's module before up (it may be found by: module spider cuda), name it as "
         "modules " +
         own + ", or: " + PipCommand(plugins);
}

}  // namespace hotplate::cli
