#include "kernels/array/replaceable.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <deque>
#include <fstream>
#include <vector>

namespace hotplate {
namespace {

constexpr int kMostLinksOnTheWay = 40;  // as the kernel
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

struct Folder {
  std::string path;
  struct stat info;
};

std::deque<std::string> SplitPath(const std::string& path) {
  std::deque<std::string> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin && path.compare(begin, end - begin, ".") != 0) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// In a user namespace that lacks root, as in many containers, root's files seem to be this user's.
constexpr uid_t kOverflowUser = 65534;
bool IsInUserNamespace() {
  std::ifstream map("/proc/self/uid_map");
  unsigned long inside = 0, outside = 0, count = 0;
  map >> inside >> outside >> count;
  return map && !(inside == 0 && outside == 0 && count == 4294967295UL);
}

bool IsTrusted(uid_t user, const FileToTrust& file) {
  if (user == 0 || user == file.owner || user == geteuid()) return true;
  return user == kOverflowUser && IsInUserNamespace();
}

bool IsAbove(const std::string& folder, const std::string& home) {
  return !home.empty() && folder != home && home.starts_with(folder == "/" ? folder : folder + "/");
}

std::string WhyParent(const Folder& folder, const FileToTrust& file) {
  const std::string who = ", who could replace " + file.what + " in it";
  if ((folder.info.st_mode & kOthersWrite) != 0) {
    return "folder " + folder.path + " can be written by others " + ModeText(folder.info.st_mode) + who + ": " +
           RemedyOf(folder.info.st_uid, "chmod go-w " + folder.path) + ", or for a record in another folder";
  }
  if (IsTrusted(folder.info.st_uid, file)) return "";
  return "folder " + folder.path + " belongs to user " + std::to_string(folder.info.st_uid) + who + ", which is user " +
         std::to_string(file.owner) + "'s: ask that one for a record in another folder";
}

std::string WhyFurtherUp(const Folder& folder, const FileToTrust& file) {
  if (IsAbove(folder.path, file.home)) return "";
  const std::string which = "folder " + folder.path + ", on the way to " + file.what + ", ";
  const std::string who = ", who could replace what is in it: ";
  if (!IsTrusted(folder.info.st_uid, file)) {
    return which + "belongs to user " + std::to_string(folder.info.st_uid) + who + "ask user " +
           std::to_string(file.owner) + " for a record in another folder";
  }
  if ((folder.info.st_mode & kOthersWrite) == 0 || (folder.info.st_mode & S_ISVTX) != 0) return "";
  return which + "can be written by others " + ModeText(folder.info.st_mode) + who +
         RemedyOf(folder.info.st_uid,
                  "chmod +t " + folder.path + " (they replace only what is theirs) or chmod go-w " + folder.path) +
         ", or for a record in another folder";
}

}  // namespace

std::string ModeText(mode_t mode) {
  char octal[16];
  std::snprintf(octal, sizeof octal, "(mode %04o)", static_cast<unsigned>(mode & 07777));
  return octal;
}

std::string RemedyOf(uid_t owner, const std::string& command) {
  if (owner == geteuid()) return command;
  return "ask user " + std::to_string(owner) + ", its owner, for " + command;
}

std::string WhyReplaceable(const FileToTrust& file) {
  std::vector<Folder> way = {{"/", {}}};
  if (stat("/", &way.front().info) != 0) return "";
  std::deque<std::string> todo = SplitPath(file.path);
  for (int links = 0; !todo.empty();) {
    const std::string part = todo.front();
    todo.pop_front();
    const Folder& folder = way.back();
    if (part == "..") {
      if (way.size() > 1) way.pop_back();
      continue;
    }
    Folder next{(folder.path == "/" ? "" : folder.path) + "/" + part, {}};
    const bool there = lstat(next.path.c_str(), &next.info) == 0;
    const bool is_link = there && S_ISLNK(next.info.st_mode);
    const bool is_file = todo.empty() && !is_link;
    if (std::string why = is_file ? WhyParent(folder, file) : WhyFurtherUp(folder, file); !why.empty()) return why;
    if (is_file || !there) return "";
    if (!is_link) {
      way.push_back(std::move(next));
      continue;
    }
    if (!IsTrusted(next.info.st_uid, file)) {
      return "link " + next.path + ", on the way to " + file.what + ", belongs to user " +
             std::to_string(next.info.st_uid) + ", who could lead it elsewhere: take the path without it";
    }
    char target[PATH_MAX];
    const ssize_t length = readlink(next.path.c_str(), target, sizeof target);
    if (length <= 0 || ++links > kMostLinksOnTheWay) return "";
    const std::string text(target, static_cast<std::size_t>(length));
    if (text.front() == '/') way.resize(1);
    const std::deque<std::string> more = SplitPath(text);
    todo.insert(todo.begin(), more.begin(), more.end());
  }
  return "";
}

}  // namespace hotplate
