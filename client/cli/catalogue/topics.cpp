#include "client/cli/catalogue/topics.h"

#include "client/cli/catalogue/embedded_texts.h"

namespace hotplate::cli {

const std::vector<Topic>& Topics() {
  static const std::vector<Topic> topics = [] {
    std::vector<Topic> all;
    for (const EmbeddedText& page : Pages()) {
      const std::string_view title = page.text.substr(0, page.text.find('\n'));
      const std::size_t colon = title.find(": ");
      all.push_back({std::string(page.name),
                     std::string(colon == std::string_view::npos ? title : title.substr(colon + 2)), page.text});
    }
    return all;
  }();
  return topics;
}

const Topic* FindTopic(std::string_view name) {
  for (const Topic& topic : Topics())
    if (topic.name == name) return &topic;
  return nullptr;
}

}  // namespace hotplate::cli
