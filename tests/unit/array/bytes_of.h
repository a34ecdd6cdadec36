// The bytes of a text, as files are read and written.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace hotplate {

inline std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace hotplate
