// Files that are placed into the program as they are, so that a copied program still has them.
#pragma once

#include <string_view>
#include <vector>

namespace hotplate::cli {

struct EmbeddedText {
  std::string_view name;  // the file's, without folder and suffix
  std::string_view text;
};

// Both are sorted by name.
const std::vector<EmbeddedText>& BuiltInProfiles();  // deploy/sites
const std::vector<EmbeddedText>& Pages();            // client/docs and deploy/docs, in Markdown

}  // namespace hotplate::cli
