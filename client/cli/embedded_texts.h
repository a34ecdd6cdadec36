// The profiles of deploy/sites, placed into the program as they are.
#pragma once

#include <string_view>
#include <vector>

namespace hotplate::cli {

struct BuiltInProfile {
  std::string_view name, text;
};
const std::vector<BuiltInProfile>& BuiltInProfiles();  // sorted by name

}  // namespace hotplate::cli
