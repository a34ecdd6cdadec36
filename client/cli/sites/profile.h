// A site's profile as text: TOML, every key known, every size bounded. deploy/docs/sites.md has the list of keys.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/sites/site.h"

namespace hotplate::cli {

inline constexpr std::size_t kLongestProfile = 64 << 10;  // bytes

// The profile called `name`. `origin` is the file that errors name, as ORIGIN:LINE: KEY and what is wrong with it.
// `base` gives the profile that the key `extends` names: what the text does not say is as it is there.
absl::StatusOr<Site> ParseProfile(const std::string& text, const std::string& name, const std::string& origin,
                                  const std::function<absl::StatusOr<Site>(const std::string&)>& base);

}  // namespace hotplate::cli
