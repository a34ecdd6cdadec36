#include "proto/codec/job_id_block.h"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "proto/codec/json_file.h"

namespace hotplate::codec {
namespace {

template <typename Number>
bool IsNumber(std::string_view text, Number& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

}  // namespace

std::string FileOf(const std::string& folder, JobIdBlockKey key) {
  return folder + "/" + std::to_string(key.first) + "." + std::to_string(key.turn);
}

std::optional<std::vector<JobIdBlockKey>> ListJobIdBlocks(const std::string& folder) {
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return std::nullopt;
  std::vector<JobIdBlockKey> keys;
  while (const dirent* const entry = readdir(open)) {
    const std::string_view name = entry->d_name;  // FIRST.TURN, or GENERATION.new while it is written
    const std::size_t dot = name.find('.');
    JobIdBlockKey key;
    if (dot != name.npos && IsNumber(name.substr(0, dot), key.first) && IsNumber(name.substr(dot + 1), key.turn)) {
      keys.push_back(key);
    }
  }
  closedir(open);
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::optional<v1::JobIdBlock> ReadJobIdBlock(const std::string& folder, JobIdBlockKey key) {
  v1::JobIdBlock block;
  if (!ReadJsonFile(FileOf(folder, key), block).ok()) return std::nullopt;
  if (block.first_job_id() == 0 || block.last_job_id() < block.first_job_id()) return std::nullopt;
  return block;
}

}  // namespace hotplate::codec
