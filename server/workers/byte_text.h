// Numbers and texts as bytes, for another process of the same machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hotplate::server {

template <typename T>
void AppendNumber(std::string& text, T number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Reads bytes that may end anywhere.
class ByteReader {
 public:
  explicit ByteReader(std::string_view text) : text_(text) {}
  // 0 where the bytes have ended.
  template <typename T>
  T Number() {
    T number{};
    const std::string_view bytes = Bytes(sizeof(T));
    if (bytes.size() == sizeof(T)) std::memcpy(&number, bytes.data(), sizeof(T));
    return number;
  }
  std::string_view Bytes(std::uint64_t count) {
    if (count > text_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = text_.substr(0, count);
    text_.remove_prefix(count);
    return bytes;
  }
  std::string_view rest() const { return text_; }
  bool ok() const { return ok_; }  // all that was asked for was there

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace hotplate::server
