// A site's profile as text: TOML, every key known, every size bounded. deploy/docs/sites.md has the list of keys.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/sites/site.h"

namespace hotplate::cli {

inline constexpr std::size_t kLongestProfile = 64 << 10;  // bytes

// The profile called `name`. Errors name the file `origin`, as ORIGIN:LINE: KEY and its fault. `base` gives the profile
// named by the key `extends`, from which missing keys are taken.
absl::StatusOr<Site> ParseProfile(const std::string& text, const std::string& name, const std::string& origin,
                                  const std::function<absl::StatusOr<Site>(const std::string&)>& base);

}  // namespace hotplate::cli
