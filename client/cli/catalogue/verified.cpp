#include "client/cli/catalogue/verified.h"

#include <sstream>
#include <vector>

#include "client/cli/catalogue/catalogue_data.h"
#include "client/cli/terminal/format.h"

namespace hotplate::cli {

std::string VerifiedOn(std::string_view file, const std::string& kernel) {
  std::vector<std::string> places;
  std::istringstream lines{std::string(file)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::istringstream names(line.substr(colon + 2));
    std::string name;
    while (names >> name && name != kernel) {
    }
    if (names) places.push_back(line.substr(0, colon));
  }
  return places.empty() ? "-" : Join(places, ", ");
}

std::string_view EmbeddedVerification() {
  return {hotplate_verified_begin, static_cast<std::size_t>(hotplate_verified_end - hotplate_verified_begin)};
}

}  // namespace hotplate::cli
