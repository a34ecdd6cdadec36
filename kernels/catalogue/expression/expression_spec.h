// The spec of a call of an expression: its inputs, numbers and outputs are those of its text.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/last_used.h"
#include "kernels/expression/names.h"
#include "kernels/spec/spec.h"

namespace hotplate::expression {

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
  static constexpr std::size_t kMost = 1024;
  LastUsed<SharedSpec> specs_{kMost};
};

}  // namespace hotplate::expression
