#include "client/cli/jobs/scalar_input.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "client/cli/jobs/standard_streams.h"
#include "client/cli/terminal/format.h"
#include "kernels/array/npy.h"

namespace hotplate::cli {
namespace {

// A dtype and its origin.
using Found = std::optional<std::pair<DType, std::string>>;

Found TypeOf(InputArgument& input, absl::StatusOr<client::Client>& client) {
  switch (input.kind) {
    case InputArgument::Kind::kFile:
    case InputArgument::Kind::kPath: {
      if (input.kind == InputArgument::Kind::kFile && input.text == kStandardStream) {
        if (!input.opened) input.opened = std::make_shared<std::variant<NpyFile, NpyError>>(OpenInput(input.text));
        if (const NpyFile* npy = std::get_if<NpyFile>(input.opened.get()))
          return std::pair(npy->signature().dtype, "standard input");
        return std::nullopt;
      }
      const auto file = NpyFile::Open(input.text);
      if (const NpyFile* npy = std::get_if<NpyFile>(&file)) return std::pair(npy->signature().dtype, input.text);
      return std::nullopt;  // opening it for the upload reports the fault
    }
    case InputArgument::Kind::kArray: {
      if (!client.ok()) return std::nullopt;
      const auto array = client->DescribeArray(input.text);
      const auto signature = array.ok() ? FromWire(array->signature()) : std::nullopt;
      if (signature) return std::pair(signature->dtype, "array:" + input.text);
      return std::nullopt;
    }
    case InputArgument::Kind::kScalar:
    case InputArgument::Kind::kJob:  // known to the daemon alone
      break;
  }
  return std::nullopt;
}

// The types that the kernel takes for the type variable `type`.
std::vector<DType> Candidates(const v1::KernelSpec& kernel, const std::string& type) {
  std::vector<DType> dtypes;
  for (const v1::TypeVariable& variable : kernel.type_variables())
    if (variable.name() == type)
      for (const int number : variable.dtypes())
        if (const auto dtype = DTypeFromNumber(number)) dtypes.push_back(*dtype);
  return dtypes;
}

// NumPy's types for a number that nothing else decides about.
DType TypeAsWritten(const std::string& text, const std::vector<DType>& candidates) {
  const auto takes = [&](DType dtype) {
    return std::find(candidates.begin(), candidates.end(), dtype) != candidates.end();
  };
  if (ParseInteger(text) && takes(DType::kInt64)) return DType::kInt64;
  return takes(DType::kFloat64) || candidates.empty() ? DType::kFloat64 : candidates.front();
}

template <typename T>
bool Write(T value, std::byte* to) {
  if (to) std::memcpy(to, &value, sizeof value);
  return true;
}

template <typename T>
bool WriteInteger(const std::string& text, std::byte* to) {
  const auto value = ParseInteger(text);
  return value && *value >= std::numeric_limits<T>::min() && *value <= std::numeric_limits<T>::max() &&
         Write(static_cast<T>(*value), to);
}

// Whether `text` is an element of that type; written to `to` unless that is null.
bool Element(DType dtype, const std::string& text, std::byte* to) {
  const auto number = ParseNumber(text);
  switch (dtype) {
    case DType::kInt32:
      return WriteInteger<std::int32_t>(text, to);
    case DType::kInt64:
      return WriteInteger<std::int64_t>(text, to);
    case DType::kFloat32:
      return number && std::isfinite(static_cast<float>(*number)) && Write(static_cast<float>(*number), to);
    case DType::kFloat64:
      return number && std::isfinite(*number) && Write(*number, to);
    default:
      return false;
  }
}

}  // namespace

bool IsScalarWord(const std::string& word) {
  const std::size_t first = word.find_first_not_of("+-");
  if (first == std::string::npos || first > 1) return false;
  const bool digit = word[first] >= '0' && word[first] <= '9';
  return (digit || word[first] == '.') && ParseNumber(word).has_value();
}

absl::Status TypeScalars(const v1::KernelSpec& kernel, absl::StatusOr<client::Client>& client,
                         std::vector<InputArgument>& inputs) {
  for (InputArgument& input : inputs) {
    if (input.kind != InputArgument::Kind::kScalar) continue;
    const auto by_name = [&](const v1::ArgumentSpec& one) { return one.name() == input.name; };
    const auto spec = std::find_if(kernel.inputs().begin(), kernel.inputs().end(), by_name);
    const std::string type = spec == kernel.inputs().end() ? "" : spec->type();
    Found found;
    std::string written = input.text;
    if (const auto fixed = ParseDType(type)) found = std::pair(*fixed, kernel.name());
    for (InputArgument& other : inputs)
      for (const v1::ArgumentSpec& one : kernel.inputs())
        if (one.name() == other.name && one.type() == type) {
          if (!found) found = TypeOf(other, client);
          // If all inputs are numbers, one that is not an integer makes all of them floats.
          if (other.kind == InputArgument::Kind::kScalar && !ParseInteger(other.text)) written = other.text;
        }
    input.dtype = found ? found->first : TypeAsWritten(written, Candidates(kernel, type));
    if (!Element(input.dtype, input.text, nullptr))
      return absl::InvalidArgumentError(kernel.name() + ": input " + input.name + ": " + input.text + " is no " +
                                        std::string(Name(input.dtype)) +
                                        (found ? ", the type of " + found->second : "") + "; give a .npy file");
  }
  return absl::OkStatus();
}

std::shared_ptr<HostBuffer> ScalarBuffer(const InputArgument& input) {
  auto buffer = HostBuffer::Allocate(SizeOf(input.dtype));
  if (buffer) Element(input.dtype, input.text, buffer->data());
  return buffer;
}

}  // namespace hotplate::cli
