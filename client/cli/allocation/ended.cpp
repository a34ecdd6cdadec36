#include "client/cli/allocation/ended.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "client/cli/allocation/text.h"
#include "client/cli/console.h"
#include "client/cli/format.h"
#include "client/cli/private_folder.h"
#include "client/cli/records.h"
#include "client/lib/endpoint.h"
#include "google/protobuf/util/json_util.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestEnd = std::size_t{1} << 20;
// In a line; the rest is counted.
constexpr std::size_t kMostNames = 20;

std::optional<v1::DaemonEnd> ReadEnd(const std::string& path) {
  const auto text = ReadPrivateFile(path, kLongestEnd);
  if (!text) return std::nullopt;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::DaemonEnd end;
  if (!google::protobuf::util::JsonStringToMessage(*text, &end, options).ok() || end.name().empty())
    return std::nullopt;
  return end;
}

std::string Listed(std::vector<std::string> words) {
  const std::size_t more = words.size() - std::min(words.size(), kMostNames);
  words.resize(words.size() - more);
  return Printable(Join(words, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : ""));
}

}  // namespace

std::optional<v1::DaemonEnd> EndOfDaemon(const Settings& settings) {
  const std::string folder = settings.directory + "/ended";
  if (!client::CheckDirectory(settings.directory).ok()) return std::nullopt;
  if (const auto name = ServerName(settings)) {
    auto end = ReadEnd(folder + "/" + *name + ".json");
    // A later daemon of that name is there, or died without a word.
    const auto record = RecordOf(settings, *name);
    if (end && record && record->generation() != end->generation()) end.reset();
    return end;
  }
  if (!ServerNames(settings).empty()) return std::nullopt;  // it is about one of these
  std::optional<v1::DaemonEnd> last;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    auto end = ReadEnd(entry.path().string());
    if (end && (!last || end->end_time().seconds() > last->end_time().seconds())) last = std::move(end);
  }
  return last;
}

std::string EndedText(const v1::DaemonEnd& end) {
  std::vector<std::string> saved, lost;
  std::string one_saved;
  for (const v1::EndedArray& array : end.arrays()) {
    const std::string bytes = Bytes(static_cast<double>(array.bytes()));
    if (array.file().empty()) {
      lost.push_back(array.name() + " (" + bytes + ": " + array.why_lost() + ")");
      continue;
    }
    saved.push_back(array.name() + " (" + bytes + ")");
    if (one_saved.empty()) one_saved = array.file();
  }
  if (!end.lost_results().empty()) {
    const std::vector<std::string> ids(end.lost_results().begin(), end.lost_results().end());
    lost.push_back((ids.size() == 1 ? "the result of job " : "the results of jobs ") + Listed(ids));
  }
  std::vector<std::string> lines;
  if (!saved.empty()) {
    lines.push_back("saved in " + Printable(end.saved_arrays()) + ": " + Listed(saved));
    lines.push_back("  back to the next daemon: hotplate put " + Printable(one_saved));
  }
  if (!lost.empty()) lines.push_back("lost: " + Listed(lost));
  return Join(lines, "\n");
}

std::string EndedPage(const v1::DaemonEnd& end) {
  const std::string text = EndedText(end);
  return end.name() + " ended at " + TimeText(end.end_time().seconds()) +
         (end.reason().empty() ? "" : ": " + Printable(end.reason())) +
         (text.empty() ? "; nothing was lost" : "\n" + text);
}

}  // namespace hotplate::cli
