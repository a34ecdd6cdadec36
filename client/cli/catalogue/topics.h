// The pages that `hotplate help TOPIC` shows: one for each page that is in the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotplate::cli {

struct Topic {
  std::string name;
  std::string summary;    // behind the colon of the page's title
  std::string_view page;  // Markdown
};
const std::vector<Topic>& Topics();  // sorted by name

const Topic* FindTopic(std::string_view name);

}  // namespace hotplate::cli
