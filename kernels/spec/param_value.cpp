// When a parameter accepts a value, and how to say that it does not.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/spec/bind.h"

namespace hotplate {
namespace {

// A bound as a person would write it: 1000000, not 1e+06.
std::string BoundText(double bound) {
  constexpr double kPlainUpTo = 1e15;
  char digits[32];
  if (bound == std::floor(bound) && std::fabs(bound) < kPlainUpTo) {
    return std::to_string(static_cast<std::int64_t>(bound));
  }
  return {digits, std::to_chars(digits, digits + sizeof digits, bound).ptr};
}

std::string Shown(const ParamValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? Quoted(*text) : ToString(value);
}

// long double holds every int64 exactly.
bool Within(const ParamSpec& param, long double value) {
  return (!param.minimum || value >= *param.minimum) && (!param.maximum || value <= *param.maximum);
}

}  // namespace

std::string Expectation(const ParamSpec& param) {
  if (param.type == ParamType::kBool) return "true or false";
  if (param.type == ParamType::kChoice)
    return (param.choices.size() > 1 ? "one of " : "") + Alternatives(param.choices);
  std::string text = param.type == ParamType::kInt ? "an integer" : param.any_number ? "a number" : "a finite number";
  if (param.minimum && param.maximum) {
    return text + " from " + BoundText(*param.minimum) + " to " + BoundText(*param.maximum);
  }
  if (param.minimum) text += " of at least " + BoundText(*param.minimum);
  if (param.maximum) text += " of at most " + BoundText(*param.maximum);
  return text;
}

std::variant<ParamValue, std::string> AcceptValue(const ParamSpec& param, const ParamValue& value) {
  const auto refusal = [&] { return param.name + " is " + Shown(value) + "; it must be " + Expectation(param); };
  const auto* integer = std::get_if<std::int64_t>(&value);
  switch (param.type) {
    case ParamType::kInt:
      if (integer == nullptr || !Within(param, static_cast<long double>(*integer))) return refusal();
      return value;
    case ParamType::kFloat: {
      if (integer != nullptr) {
        const double real = static_cast<double>(*integer);
        if (static_cast<long double>(real) != static_cast<long double>(*integer)) {
          return param.name + " is " + Shown(value) + ", an integer that a float64 cannot hold exactly; write it as " +
                 ToString(ParamValue(real));
        }
        if (!Within(param, real)) return refusal();
        return value;
      }
      const auto* real = std::get_if<double>(&value);
      if (real == nullptr || (!param.any_number && !std::isfinite(*real)) || !Within(param, *real)) return refusal();
      return value;
    }
    case ParamType::kBool:
      if (!std::holds_alternative<bool>(value)) return refusal();
      return value;
    case ParamType::kChoice: {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr && std::find(param.choices.begin(), param.choices.end(), *text) != param.choices.end()) {
        return value;
      }
      return refusal();
    }
  }
  return refusal();
}

}  // namespace hotplate
