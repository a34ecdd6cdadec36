// The header of an .npy file: a magic text, a version, a length, and a Python dict as text. The parser accepts exactly
// NumPy's form of the dict and evaluates nothing.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/array/npy.h"
#include "kernels/array/quoted.h"

namespace hotplate {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kDataAlignment = 64;

struct TypeRow {
  DType dtype;
  std::string_view code;  // without the byte order
};

// NumPy has no bfloat16 of its own: ml_dtypes (JAX) saves it as '<V2'.
constexpr std::array<TypeRow, kDTypeCount> kTypes = {{
    {DType::kBool, "b1"},
    {DType::kInt8, "i1"},
    {DType::kInt16, "i2"},
    {DType::kInt32, "i4"},
    {DType::kInt64, "i8"},
    {DType::kUInt8, "u1"},
    {DType::kUInt16, "u2"},
    {DType::kUInt32, "u4"},
    {DType::kUInt64, "u8"},
    {DType::kFloat16, "f2"},
    {DType::kBFloat16, "V2"},
    {DType::kFloat32, "f4"},
    {DType::kFloat64, "f8"},
    {DType::kComplex64, "c8"},
    {DType::kComplex128, "c16"},
}};

std::string Descr(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return std::string(1, SizeOf(dtype) == 1 ? '|' : '<').append(row.code);
  }
  return "";
}

NpyError Invalid(std::string message) { return {.message = std::move(message)}; }

std::variant<DType, NpyError> ParseDescr(std::string_view descr) {
  const std::string said = "the element type is " + Quoted(descr);
  if (descr.size() < 2) return Invalid(said + ", which is not one of NumPy's");
  const char order = descr[0], kind = descr[1];
  const std::string_view code = descr.substr(1);
  if (kind == 'O') return Invalid(said + ": Python objects cannot be read; save the array with a numeric dtype");
  if (kind == 'U' || kind == 'S' || kind == 'a') return Invalid(said + ": text is not supported, only numbers are");
  if (kind == 'M' || kind == 'm') {
    return Invalid(said + ": dates and times are not supported; view or convert them as int64");
  }
  for (const TypeRow& row : kTypes) {
    if (row.code != code) continue;
    if (order == '>' && SizeOf(row.dtype) > 1) {
      return Invalid(said + ": big-endian elements are not supported; save array.astype('<" + std::string(code) + "')");
    }
    const bool fits = SizeOf(row.dtype) == 1 ? (order == '|' || order == '<' || order == '>') : order == '<';
    if (fits) return row.dtype;
  }
  return Invalid(said + ", which is not supported; use bool, int8 to int64, uint8 to uint64, float16, float32, " +
                 "float64, complex64 or complex128");
}

// The dict's entries, before they are checked.
struct Fields {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  std::variant<Fields, NpyError> Parse() {
    Fields fields;
    if (!Take('{')) return Unexpected("a Python dict");
    while (!Take('}')) {
      const std::optional<std::string_view> key = TakeText();
      if (!key) return Unexpected("a key in quotes or \"}\"");
      if (!Take(':')) return Unexpected("\":\"");
      if (std::optional<NpyError> error = TakeValue(*key, fields)) return *std::move(error);
      if (!Take(',') && Peek() != '}') return Unexpected("\",\" or \"}\"");
    }
    if (Peek() != '\0' || position_ != text_.size()) return Unexpected("nothing after the dict");
    return fields;
  }

 private:
  std::optional<NpyError> TakeValue(std::string_view key, Fields& fields) {
    const auto twice = [&] { return Invalid("the header has the key " + Quoted(key) + " twice"); };
    if (key == "descr") {
      if (fields.descr) return twice();
      if (Peek() == '[') {
        return Invalid("the element type is structured, " + Quoted(TakeList()) +
                       ": save each field as an array of its own");
      }
      fields.descr = TakeText();
      if (!fields.descr) return Unexpected("an element type in quotes");
      return std::nullopt;
    }
    if (key == "fortran_order") {
      if (fields.fortran_order) return twice();
      if (TakeWord("True")) {
        fields.fortran_order = true;
      } else if (TakeWord("False")) {
        fields.fortran_order = false;
      } else {
        return Unexpected("True or False for fortran_order");
      }
      return std::nullopt;
    }
    if (key == "shape") {
      if (fields.shape) return twice();
      return TakeShape(fields.shape.emplace());
    }
    return Invalid("the header has the key " + Quoted(key) + "; it may have descr, fortran_order and shape only");
  }

  // "()", "(3,)", "(3, 4)", "(3, 4,)"; Python 2 wrote "3L".
  std::optional<NpyError> TakeShape(Shape& shape) {
    if (!Take('(')) return Unexpected("a tuple of sizes for shape");
    bool comma = true;
    while (!Take(')')) {
      if (!comma) return Unexpected("\",\" or \")\" in shape");
      if (shape.size() == kMaxRank) {
        return Invalid("the array has more than " + std::to_string(kMaxRank) + " dimensions, the most there may be");
      }
      std::int64_t size = 0;
      if (std::optional<NpyError> error = TakeSize(size)) return error;
      shape.push_back(size);
      comma = Take(',');
    }
    if (shape.size() == 1 && !comma) return Invalid("shape is a number in brackets, not a tuple");
    return std::nullopt;
  }

  std::optional<NpyError> TakeSize(std::int64_t& size) {
    Peek();
    const std::string_view rest = text_.substr(position_);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error == std::errc::invalid_argument) return Unexpected("a size in shape");
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (error == std::errc::result_out_of_range) {
      return Invalid("a size in shape is " + Quoted(rest.substr(0, length)) + ", more than any array has");
    }
    if (size < 0) return Invalid("a size in shape is negative: " + std::to_string(size));
    position_ += length;
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;
    return std::nullopt;
  }

  // From a "[" to the "]" that belongs to it, or to the end.
  std::string_view TakeList() {
    const std::string_view rest = text_.substr(position_);
    int depth = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (rest[i] == '[') ++depth;
      if (rest[i] == ']' && --depth == 0) return rest.substr(0, i + 1);
    }
    return rest;
  }

  // The text between a pair of quotes, ' or ". An escape would be an odd way to write any of the texts there are.
  std::optional<std::string_view> TakeText() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(position_ + 1, end - position_ - 1);
    if (inside.find_first_of("\\\n") != std::string_view::npos) return std::nullopt;
    position_ = end + 1;
    return inside;
  }

  bool Take(char character) {
    if (Peek() != character) return false;
    ++position_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    Peek();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  // The next character that is not a space; '\0' at the end.
  char Peek() {
    while (position_ < text_.size() && std::strchr(" \t\r\n", text_[position_]) != nullptr &&
           text_[position_] != '\0') {
      ++position_;
    }
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  NpyError Unexpected(std::string_view expected) {
    const bool ended = Peek() == '\0' && position_ == text_.size();
    return Invalid("the header is malformed: expected " + std::string(expected) + " at its byte " +
                   std::to_string(position_) + ", found " + (ended ? "its end" : Quoted(text_.substr(position_, 20))));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

std::variant<NpyHeader, NpyError> Judge(const Fields& fields) {
  for (const auto& [key, there] : {std::pair("descr", fields.descr.has_value()),
                                   {"fortran_order", fields.fortran_order.has_value()},
                                   {"shape", fields.shape.has_value()}}) {
    if (!there) return Invalid(std::string("the header has no key \"") + key + "\"");
  }
  const std::variant<DType, NpyError> dtype = ParseDescr(*fields.descr);
  if (const auto* error = std::get_if<NpyError>(&dtype)) return *error;
  NpyHeader header{.signature = {.dtype = std::get<DType>(dtype), .shape = *fields.shape},
                   .fortran_order = *fields.fortran_order};
  const std::optional<std::size_t> bytes = ByteSize(header.signature);
  if (!bytes || *bytes > kMaxArrayBytes) {
    return Invalid("the header claims an array of " + ToString(header.signature) + ", which is more than the " +
                   std::to_string(kMaxArrayBytes) + " bytes that an array may have");
  }
  return header;
}

}  // namespace

std::variant<NpyHeader, NpyError> ParseNpyHeader(std::span<const std::byte> prefix) {
  const std::string_view text(reinterpret_cast<const char*>(prefix.data()), prefix.size());
  if (text.empty()) return Invalid("the file is empty, not an .npy file");
  const std::size_t compared = std::min(text.size(), kMagic.size());
  if (text.substr(0, compared) != kMagic.substr(0, compared)) {
    std::string hint;
    if (text.starts_with("PK\x03\x04")) hint = "; it looks like an .npz archive: save the one array with numpy.save";
    return Invalid("not an .npy file: it starts with " + Quoted(text.substr(0, 8)) + ", not with " + Quoted(kMagic) +
                   hint);
  }
  const auto truncated = [&](std::size_t needed) {
    return Invalid("the file is truncated: it has " + std::to_string(text.size()) + " bytes, its header alone needs " +
                   std::to_string(needed));
  };
  const auto byte = [&](std::size_t index) { return static_cast<std::size_t>(prefix[index]); };
  if (text.size() < kMagic.size() + kVersionBytes) return truncated(kMagic.size() + kVersionBytes + 2);
  const std::size_t major = byte(kMagic.size()), minor = byte(kMagic.size() + 1);
  if (major < 1 || major > 3 || minor != 0) {
    return Invalid(".npy version " + std::to_string(major) + "." + std::to_string(minor) +
                   " is not known; 1.0, 2.0 and 3.0 are");
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t dict_at = kMagic.size() + kVersionBytes + length_bytes;
  if (text.size() < dict_at) return truncated(dict_at);
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(kMagic.size() + kVersionBytes + i) << (8 * i);
  if (length > kMaxNpyHeaderBytes) {
    return Invalid("the header claims to be " + std::to_string(length) + " bytes long; at most " +
                   std::to_string(kMaxNpyHeaderBytes) + " are accepted");
  }
  if (text.size() < dict_at + length) return truncated(dict_at + length);

  const std::variant<Fields, NpyError> fields = DictParser(text.substr(dict_at, length)).Parse();
  if (const auto* error = std::get_if<NpyError>(&fields)) return *error;
  std::variant<NpyHeader, NpyError> header = Judge(std::get<Fields>(fields));
  if (auto* good = std::get_if<NpyHeader>(&header)) good->data_offset = dict_at + length;
  return header;
}

std::string NpyHeaderFor(const Signature& signature) {
  std::string shape = "(";
  for (const std::int64_t size : signature.shape) {
    if (shape.size() > 1) shape += ' ';
    shape += std::to_string(size) + ",";
  }
  if (signature.shape.size() > 1) shape.pop_back();
  shape += ')';
  std::string dict = "{'descr': '" + Descr(signature.dtype) + "', 'fortran_order': False, 'shape': " + shape + ", }";

  const auto padded_length = [&](std::size_t dict_at) {
    const std::size_t end = dict_at + dict.size() + 1;  // with the line's end
    return (end + kDataAlignment - 1) / kDataAlignment * kDataAlignment - dict_at;
  };
  const std::size_t fixed = kMagic.size() + kVersionBytes;
  const bool long_header = padded_length(fixed + 2) > 0xffff;
  const std::size_t length_bytes = long_header ? 4 : 2;
  const std::size_t length = padded_length(fixed + length_bytes);

  std::string header(kMagic);
  header += long_header ? '\x02' : '\x01';
  header += '\0';
  for (std::size_t i = 0; i < length_bytes; ++i) header += static_cast<char>(length >> (8 * i) & 0xff);
  dict.resize(length - 1, ' ');
  return header + dict + '\n';
}

}  // namespace hotplate
