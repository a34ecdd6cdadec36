// A profile as it is delivered, whatever the user of the machine has.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "client/cli/sites/site.h"

namespace hotplate::cli {

inline Site BuiltIn(const std::string& name) {
  auto site = FindSite(name, [](const std::string&) { return std::nullopt; });
  if (!site.ok()) throw std::runtime_error(site.status().ToString());
  return *std::move(site);
}

}  // namespace hotplate::cli
