#include "client/lib/follow_on.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "proto/codec/job_id_block.h"
#include "proto/codec/json_file.h"

namespace hotplate::client {

bool IsFollowed(const FoundRecord& found) {
  const std::string& job = found.record.slurm_job_id();
  if (job.empty()) return false;
  // DIR/servers/NAME.json and DIR/allocations/NAME.json (client/cli/allocation/notes.h).
  const std::filesystem::path record(found.path);
  google::protobuf::Struct note;
  if (!codec::ReadJsonFile((record.parent_path().parent_path() / "allocations" / record.filename()).string(), note)
           .ok())
    return false;
  std::vector<std::string> chain;
  const auto add = [&](const char* field) {
    const auto at = note.fields().find(field);
    if (at == note.fields().end()) return;
    if (at->second.has_string_value()) chain.push_back(at->second.string_value());
    for (const auto& one : at->second.list_value().values()) chain.push_back(one.string_value());
  };
  for (const char* field : {"earlier", "job_id", "follow_on"}) add(field);
  const auto its = std::find(chain.begin(), chain.end(), job);
  if (its == chain.end() || its + 1 == chain.end()) return false;
  // A daemon that nobody used has cancelled them, and said so in its last block.
  const std::string blocks = (record.parent_path().parent_path() / "jobs").string();
  const auto keys = codec::ListJobIdBlocks(blocks);
  if (!keys) return true;
  for (auto key = keys->rbegin(); key != keys->rend(); ++key) {
    const auto block = codec::ReadJobIdBlock(blocks, *key);
    if (block && block->daemon().generation() == found.record.generation()) return !block->daemon().alone();
  }
  return true;
}

}  // namespace hotplate::client
