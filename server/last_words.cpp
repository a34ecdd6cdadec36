#include "server/last_words.h"

#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <variant>

#include "kernels/array/npy.h"
#include "server/quantity.h"

namespace hotplate::server {

std::string WhenUnused(const Config& config) {
  if (config.idle_timeout.count() == 0) return "never ends itself for want of use (--idle-timeout 0)";
  return "ends itself after " + FormatDuration(config.idle_timeout) + " without use";
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) list += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? list + ", ..." : list;
}

namespace {

const core::Principal& Everybody() {
  static const core::Principal everybody{"", core::SessionId(), core::Scope::kAdmin};
  return everybody;
}

// Ids of detached jobs whose results nobody had fetched.
std::vector<std::string> UnfetchedResults(core::Engine& engine) {
  std::vector<std::string> ids;
  core::JobFilter filter;
  filter.limit = std::numeric_limits<std::size_t>::max();
  for (const core::JobSnapshot& job : engine.List(Everybody(), filter)) {
    if (job.detached && job.end && !job.end->outputs_dropped && !job.end->outputs.empty())
      ids.push_back(job.id.value());
  }
  return ids;
}

}  // namespace

v1::DaemonEnd WhatBecame(core::Engine& engine, const SavedArrays& saved) {
  v1::DaemonEnd end;
  const auto add = [&end](const std::string& name, std::uint64_t bytes) -> v1::EndedArray& {
    v1::EndedArray& array = *end.add_arrays();
    array.set_name(name);
    array.set_bytes(bytes);
    return array;
  };
  std::set<std::string> known;
  for (const SavedArrays::One& one : saved.all) {
    known.insert(one.id.value());
    v1::EndedArray& array = add(one.name, one.bytes);
    array.set_file(one.file);
    array.set_why_lost(one.why_not);
  }
  for (const core::ArraySnapshot& array : engine.arrays().List(Everybody())) {
    if (known.contains(array.id.value())) continue;
    add(array.label(), array.bytes)
        .set_why_lost(array.state != core::ArrayState::kReady ? "its upload was not complete"
                      : array.lease_end                       ? "it was not saved in time"
                                                              : "it had no lease, and went with its session");
  }
  for (const std::string& id : UnfetchedResults(engine)) end.add_lost_results(id);
  return end;
}

std::string WriteEnd(const std::string& directory, const v1::DaemonEnd& end) {
  namespace fs = std::filesystem;
  const std::string folder = directory + "/ended";
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return SystemError(folder, errno).message;
  constexpr std::chrono::hours kMonth{30 * 24};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const auto changed = entry.last_write_time(error);
    if (!error && fs::file_time_type::clock::now() - changed > kMonth) fs::remove(entry.path(), error);
  }
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  const auto printed = google::protobuf::util::MessageToJsonString(end, &json, options);
  if (!printed.ok()) return printed.ToString();
  const std::string path = folder + "/" + end.name() + ".json";
  std::variant<AtomicFile, NpyError> created = AtomicFile::Create(path);
  if (const auto* wrong = std::get_if<NpyError>(&created)) return path + ": " + wrong->message;
  AtomicFile& file = std::get<AtomicFile>(created);
  std::optional<NpyError> wrong = file.Write(std::as_bytes(std::span(json)));
  if (!wrong) wrong = file.Commit();
  return wrong ? path + ": " + wrong->message : "";
}

std::string WhatIsDropped(core::Engine& engine, const SavedArrays& saved) {
  std::uint64_t bytes = 0;
  std::vector<std::string> names;
  for (const core::ArraySnapshot& array : engine.arrays().List(Everybody())) {
    if (saved.Has(array.id)) continue;
    bytes += array.bytes;
    names.push_back(array.label());
  }
  const std::size_t arrays = names.size();
  for (const std::string& id : UnfetchedResults(engine)) names.push_back("job " + id);
  if (names.empty()) return "";
  const std::size_t jobs = names.size() - arrays;
  std::string what;
  if (arrays > 0) what = std::to_string(arrays) + " arrays of " + FormatBytes(bytes) + " together";
  if (jobs > 0) what += (what.empty() ? "" : ", ") + ("the kept results of " + std::to_string(jobs)) + " jobs";
  return what + " (" + Listed(names) + ")";
}

}  // namespace hotplate::server
