#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "server/workers/warm_pythons.h"

namespace hotplate::server {
namespace {

// What interpreters and packages read as they start. PYTHON* and the like decide what a script sees; the others what a
// package has made of them by then. Other names with TF_ are Terraform's.
constexpr std::string_view kBeginnings[] = {
    "PYTHON",     "OMP_",      "BLIS_",   "KMP_",    "GOMP_",    "MKL_",    "NUMBA_",    "JAX_",
    "XLA_",       "CUDA_",     "CUPY_",   "TORCH_",  "PYTORCH_", "TF_CPP_", "TF_CUDNN_", "TF_DETERMINISTIC_",
    "TF_ENABLE_", "TF_FORCE_", "TF_GPU_", "TF_NUM_", "TF_USE_",  "TF_XLA_", "NPY_",      "NUMPY_",
    "SCIPY_",     "LD_",       "LC_",     "MALLOC_"};
constexpr std::string_view kNames[] = {"MPLBACKEND", "LANG", "LANGUAGE", "HOME", "GLIBC_TUNABLES"};

// Set in each script, for packages that are there already (set_thread_counts in hotplate_worker.py), or read later.
constexpr std::string_view kOfEachScript[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                              "NUMBA_NUM_THREADS", "CUDA_VISIBLE_DEVICES"};

// These make an interpreter say or do something as it starts.
constexpr std::string_view kOnlyAnew[] = {"PYTHONINSPECT", "PYTHONPROFILEIMPORTTIME", "PYTHONVERBOSE", "PYTHONDUMPREFS",
                                          "PYTHONDEBUG"};

template <std::size_t n>
bool IsOneOf(std::string_view name, const std::string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool Matters(std::string_view name) {
  if (IsOneOf(name, kOfEachScript)) return false;
  return IsOneOf(name, kNames) || name.find("BLAS") != std::string_view::npos ||
         std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

// Folders that are meant from where each script begins.
bool HasRelative(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end == begin || path[begin] != '/') return true;
    begin = end + 1;
  }
  return false;
}

// Why the words after the interpreter need one that starts anew.
std::string WhyNot(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return "no script";
  const std::string& first = arguments[1];
  const bool has_value = first == "-m" || first == "-c";
  if (has_value && arguments.size() < 3) return "option " + first + " without a value";
  if (!has_value && (first.empty() || first[0] == '-')) return "option " + first;
  return "";
}

}  // namespace

namespace {

// Words of a name, which say that its value is nobody's business.
constexpr std::string_view kSecret[] = {"TOKEN",    "TOKENS", "KEY",        "KEYS",       "APIKEY",     "SECRET",
                                        "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"};
bool MayBeSecret(std::string_view name) {
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    std::string word(name.substr(0, end));
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
    if (IsOneOf(word, kSecret)) return true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

}  // namespace

std::vector<std::string> WhatMatters(const std::vector<std::string>& environment) {
  std::vector<std::string> variables;
  for (const std::string& variable : environment) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (!MayBeSecret(name) && (Matters(name) || name == "PATH")) variables.push_back(variable);
  }
  return variables;
}

WarmKey WarmKeyOf(const Program& program) {
  WarmKey key{program.file, WhyNot(program.arguments)};
  std::vector<std::string_view> variables(program.environment.begin(), program.environment.end());
  std::sort(variables.begin(), variables.end());
  for (const std::string_view variable : variables) {
    const std::string_view name = variable.substr(0, variable.find('=')), value = variable.substr(name.size() + 1);
    if (!Matters(name)) continue;
    if (key.why_not.empty() && IsOneOf(name, kOnlyAnew) && !value.empty()) key.why_not = std::string(name) + " is set";
    if (key.why_not.empty() && name == "PYTHONPATH" && !value.empty() && HasRelative(value)) {
      key.why_not = "PYTHONPATH has a relative folder";
    }
    key.text += '\0';
    key.text += variable;
  }
  return key;
}

}  // namespace hotplate::server
