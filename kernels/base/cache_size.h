// Files of a cache: how many, and their bytes.
#pragma once

#include <cstdint>

namespace hotplate {

struct CacheSize {
  std::uint64_t files = 0, bytes = 0;
};

}  // namespace hotplate
