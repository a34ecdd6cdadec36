#include "client/cli/jobs/job_selection.h"

#include <algorithm>
#include <optional>

#include "client/cli/ending.h"
#include "client/cli/terminal/format.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string::npos;
}

struct Range {
  std::int64_t first, last;
};

// "20-24"; nothing for other words.
std::optional<Range> RangeOf(const std::string& word) {
  const std::size_t dash = word.find('-');
  if (dash == std::string::npos || !IsNumber(word.substr(0, dash)) || !IsNumber(word.substr(dash + 1)))
    return std::nullopt;
  return Range{std::stoll(word.substr(0, dash)), std::stoll(word.substr(dash + 1))};
}

// Asks the daemon for its jobs, once, when a word needs them.
class Known {
 public:
  explicit Known(client::Client& client) : client_(client) {}

  absl::StatusOr<std::vector<std::string>> All(AllJobs which) {
    std::vector<std::string> ids;
    if (absl::Status status = Ask(); !status.ok()) return status;
    for (const v1::Job& job : jobs_)
      if (which == AllJobs::kEveryOne || job.state() <= v1::RUNNING) ids.push_back(job.id());
    return ids;
  }

  // The word itself if there is no graph of that name: whoever asks for that job tells that there is none.
  absl::StatusOr<std::vector<std::string>> OfGraph(const std::string& word) {
    v1::ListJobsRequest request;
    request.set_graph(word);
    const auto jobs = client_.Jobs(request);
    if (!jobs.ok()) return jobs.status();
    std::vector<std::string> ids;
    for (auto job = jobs->rbegin(); job != jobs->rend(); ++job) ids.push_back(job->id());
    return ids.empty() ? std::vector<std::string>{word} : ids;
  }

  absl::StatusOr<std::vector<std::string>> Last() {
    v1::ListJobsRequest newest;
    newest.set_page_size(1);
    const auto jobs = client_.Jobs(newest);
    if (!jobs.ok()) return jobs.status();
    if (jobs->empty()) return absl::NotFoundError("last: the daemon knows no job");
    return std::vector<std::string>{jobs->front().id()};
  }

  absl::StatusOr<std::vector<std::string>> In(const std::string& word, Range range) {
    if (range.first > range.last)
      return absl::InvalidArgumentError("jobs " + word + ": the first is larger than the last");
    if (absl::Status status = Ask(); !status.ok()) return status;
    std::vector<std::string> ids;
    for (const v1::Job& job : jobs_)
      if (IsNumber(job.id()) && std::stoll(job.id()) >= range.first && std::stoll(job.id()) <= range.last)
        ids.push_back(job.id());
    if (ids.empty()) return absl::NotFoundError("jobs " + word + ": the daemon knows none of them (hotplate jobs)");
    return ids;
  }

 private:
  // Oldest first.
  absl::Status Ask() {
    if (asked_) return absl::OkStatus();
    auto jobs = client_.Jobs();
    if (!jobs.ok()) return jobs.status();
    std::reverse(jobs->begin(), jobs->end());
    jobs_ = *std::move(jobs);
    asked_ = true;
    return absl::OkStatus();
  }

  client::Client& client_;
  bool asked_ = false;
  std::vector<v1::Job> jobs_;
};

}  // namespace

bool IsGraphWord(const std::string& word) {
  return !word.empty() && word != "all" && word != "last" && !IsNumber(word) && !RangeOf(word) &&
         word.find(',') == std::string::npos;
}

absl::StatusOr<std::vector<std::string>> SelectJobs(client::Client& client, const std::vector<std::string>& words,
                                                    AllJobs all) {
  Known known(client);
  std::vector<std::string> selected;
  for (const std::string& listed : words) {
    for (const std::string& word : SplitAt(listed, ',')) {
      absl::StatusOr<std::vector<std::string>> ids = std::vector<std::string>{word};
      if (word == "all")
        ids = known.All(all);
      else if (word == "last")
        ids = known.Last();
      else if (const auto range = RangeOf(word))
        ids = known.In(word, *range);
      else if (word.empty())
        ids = absl::InvalidArgumentError("job " + Quoted(listed) + " has an empty part");
      else if (IsGraphWord(word))
        ids = known.OfGraph(word);
      if (!ids.ok()) return ids.status();
      for (const std::string& id : *ids)
        if (std::find(selected.begin(), selected.end(), id) == selected.end()) selected.push_back(id);
    }
  }
  return selected;
}

absl::StatusOr<std::string> SelectJob(client::Client& client, const std::string& word) {
  const auto ids = SelectJobs(client, {word}, AllJobs::kEveryOne);
  if (!ids.ok()) return ids.status();
  if (ids->empty()) return absl::NotFoundError("all: the daemon knows no job");
  if (ids->size() == 1) return ids->front();
  return absl::InvalidArgumentError(word + " are " + std::to_string(ids->size()) +
                                    " jobs, and this command is about one: name it, or say last");
}

}  // namespace hotplate::cli
