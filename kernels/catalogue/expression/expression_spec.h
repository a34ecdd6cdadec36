// The spec of a call of an expression: its inputs, numbers and outputs are those of its text.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "kernels/expression/names.h"
#include "kernels/spec/spec.h"

namespace hotplate::expression {

// The kernel that runs every text, and the parameter that has the text.
inline constexpr const char* kKernel = kKernelName;
inline constexpr char kTextParam[] = "expression";

// The hash of every spec that ExpressionSpecs makes: one kernel runs them all.
const std::string& SpecHash();

// Makes specs, and keeps those that were asked for last, by text and signatures. Thread-safe.
class ExpressionSpecs {
 public:
  // INVALID_ARGUMENT with a violation of the field "expression": a sentence, the text, and a caret under the place.
  // `numbers`: what the text takes by name and is no array; by their kinds, not by their values.
  absl::StatusOr<SharedSpec> For(const std::string& text, const std::map<std::string, Signature>& inputs,
                                 const std::map<std::string, ParamValue>& numbers);

 private:
  static constexpr std::size_t kMostSpecs = 1024, kMostKeyBytes = std::size_t{4} << 20;

  struct Kept {
    std::string key;
    SharedSpec spec;
  };

  Mutex mutex_;
  std::list<Kept> specs_ ABSL_GUARDED_BY(mutex_);  // the last used first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  std::size_t key_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate::expression
