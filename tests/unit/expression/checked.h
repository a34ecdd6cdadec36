// Checks texts in short: Checked("x + y", {Input("x", "float32 3,4"), ...}).
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/expression/check.h"

namespace hotplate::expression {

// "float32 3,4", or "float32" for an array without axes.
inline NamedInput Input(const std::string& name, std::string_view signature) {
  const std::size_t blank = signature.find(' ');
  NamedInput input{.name = name, .signature = {.dtype = *ParseDType(signature.substr(0, blank)), .shape = {}}};
  while (blank != signature.npos && signature.back() != ' ') {
    const std::size_t before = signature.find_last_of(" ,");
    std::int64_t size = 0;
    std::from_chars(signature.data() + before + 1, signature.data() + signature.size(), size);
    input.signature.shape.insert(input.signature.shape.begin(), size);
    signature = signature.substr(0, before);
    if (before == blank) break;
  }
  return input;
}

inline Scalar Given(const std::string& name, DType dtype) { return {.name = name, .dtype = dtype}; }

// The program of a text that is right.
inline Program Checked(std::string_view text, const std::vector<NamedInput>& inputs = {},
                       const std::vector<Scalar>& scalars = {}) {
  std::variant<Program, Error> checked = Check(text, inputs, scalars);
  if (const Error* const error = std::get_if<Error>(&checked)) {
    ADD_FAILURE() << error->message << "\n" << WithCaret(*error, text);
    return {};
  }
  return std::get<Program>(std::move(checked));
}

// "float32 [3, 4]" of the first output, or the message of the error.
inline std::string ResultOf(std::string_view text, const std::vector<NamedInput>& inputs = {},
                            const std::vector<Scalar>& scalars = {}) {
  const std::variant<Program, Error> checked = Check(text, inputs, scalars);
  if (const Error* const error = std::get_if<Error>(&checked)) return error->message;
  return ToString(std::get<Program>(checked).outputs.front().signature);
}

inline std::string_view NameOf(Error::Kind kind) {
  constexpr std::string_view kNames[] = {"syntax", "name", "type", "value", "index", "limit"};
  return kNames[static_cast<std::size_t>(kind)];
}

// "value 2+1: shapes do not ...": kind, offset and length, message.
inline std::string ErrorOf(std::string_view text, const std::vector<NamedInput>& inputs = {},
                           const std::vector<Scalar>& scalars = {}) {
  const std::variant<Program, Error> checked = Check(text, inputs, scalars);
  const Error* const error = std::get_if<Error>(&checked);
  if (error == nullptr) return "no error";
  return std::string(NameOf(error->kind)) + " " + std::to_string(error->offset) + "+" + std::to_string(error->length) +
         ": " + error->message;
}

}  // namespace hotplate::expression
