// The folder jobs/ of a HOTPLATE_DIR: a file for each block of job ids (v1::JobIdBlock), named FIRST.TURN.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::codec {

// A block's first number, and its turn. Blocks are claimed in this order.
struct JobIdBlockKey {
  std::uint64_t first = 0;
  std::uint32_t turn = 0;

  auto operator<=>(const JobIdBlockKey&) const = default;
};

std::string FileOf(const std::string& folder, JobIdBlockKey key);

// The blocks of the folder, in order; nothing where it cannot be read, and errno says why.
std::optional<std::vector<JobIdBlockKey>> ListJobIdBlocks(const std::string& folder);

// Nothing where the file cannot be read, or is not a block.
std::optional<v1::JobIdBlock> ReadJobIdBlock(const std::string& folder, JobIdBlockKey key);

}  // namespace hotplate::codec
