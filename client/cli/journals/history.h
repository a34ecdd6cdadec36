// Ended jobs of all daemons, one by one or summed up, as people and programs read them.
#pragma once

#include <string>
#include <vector>

#include "client/cli/journals/past_jobs.h"
#include "client/cli/journals/past_sums.h"

namespace hotplate::cli {

std::string TextOf(const std::vector<PastJob>& jobs, bool colour, int width);
// With its receipt and its error, if it has them.
std::string JsonOf(const PastJob& job);
// A row with its end of line, and the line above all rows.
std::string CsvOf(const PastJob& job);
std::string CsvHead();

// `total`: of all sums, of which these may be the first. GPUs are shown if there are any.
std::string TextOf(const std::vector<PastSum>& sums, const PastSum& total, const std::vector<SumBy>& by, int width);
std::string JsonOf(const std::vector<PastSum>& sums, const std::vector<SumBy>& by);
std::string CsvOf(const std::vector<PastSum>& sums, const std::vector<SumBy>& by);

}  // namespace hotplate::cli
