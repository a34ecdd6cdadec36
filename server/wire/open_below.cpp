#include "server/wire/open_below.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace hotplate::wire {
namespace {

constexpr int kMostLinks = 40;         // as the kernel
constexpr std::size_t kDeepest = 100;  // each folder on the way is open meanwhile

std::vector<std::string> PartsOf(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (!part.empty() && part != ".") parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

// The rest of an absolute path behind the root; nothing if it does not begin with it.
std::optional<std::string> BehindRoot(const std::string& path, const std::string& root) {
  if (root == "/") return path;
  if (!path.starts_with(root) || (path.size() > root.size() && path[root.size()] != '/')) return std::nullopt;
  return path.substr(root.size());
}

std::optional<std::string> TargetOf(int link) {
  char target[PATH_MAX];
  const ssize_t length = readlinkat(link, "", target, sizeof target);
  if (length <= 0) return std::nullopt;
  return std::string(target, static_cast<std::size_t>(length));
}

}  // namespace

OpenedBelow OpenBelow(const std::string& root, const std::string& path) {
  const auto leads_out = [] { return OpenedBelow{.leads_out = true}; };
  const auto failed = [](int error) { return OpenedBelow{.error = error}; };
  std::vector<Descriptor> way;  // the root, and below it where the walk stands
  way.emplace_back(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!way.back()) return failed(errno);
  const std::optional<std::string> rest = BehindRoot(path, root);
  if (!rest) return leads_out();
  const std::vector<std::string> parts = PartsOf(*rest);
  std::deque<std::string> todo(parts.begin(), parts.end());
  for (int links = 0; !todo.empty();) {
    const std::string part = std::exchange(todo.front(), {});
    todo.pop_front();
    if (part == "..") {
      if (way.size() == 1) return leads_out();
      way.pop_back();
      continue;
    }
    Descriptor next(openat(way.back().get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!next || fstat(next.get(), &facts) != 0) return failed(errno);
    if (!S_ISLNK(facts.st_mode)) {
      if (way.size() == kDeepest) return failed(ENAMETOOLONG);
      way.push_back(std::move(next));
      continue;
    }
    if (++links > kMostLinks) return failed(ELOOP);
    std::optional<std::string> target = TargetOf(next.get());
    if (!target) return failed(errno);
    if (target->front() == '/') {
      target = BehindRoot(*target, root);
      if (!target) return leads_out();
      way.resize(1);
    }
    const std::vector<std::string> more = PartsOf(*target);
    todo.insert(todo.begin(), more.begin(), more.end());
    if (todo.size() > PATH_MAX) return failed(ENAMETOOLONG);
  }
  return {.file = std::move(way.back())};
}

}  // namespace hotplate::wire
