// Two things measured in the same run, in turns, so that whatever else the machine does falls on both alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hotplate::bench {

double Median(std::vector<double> values);

struct Goal {
  double bound = 0;
  bool at_least = false;  // a lower bound, for rates; else an upper one, for times
  bool of_ratio = true;   // to the peer; else of the measured figure itself
};
constexpr Goal AtMost(double ratio) { return {ratio, false, true}; }
constexpr Goal AtLeast(double ratio) { return {ratio, true, true}; }
constexpr Goal ItselfAtMost(double value) { return {value, false, false}; }

// One line of the table. The ratio is the median of each round's own ratio, not the ratio of the medians.
struct Row {
  std::string name;
  std::string unit;
  double measured = 0;
  double peer = 0;
  std::string peer_name;
  double ratio = 0;
  Goal goal;
};

// Calls both sides `rounds` times, the first to go alternating. Each call returns its round's figure, in `unit`.
Row Compare(const std::string& name, const std::string& unit, int rounds, const std::function<double()>& ours,
            const std::string& peer_name, const std::function<double()>& peer, Goal goal);

// The median of `calls` calls, in microseconds.
double MicrosecondsOf(int calls, const std::function<void()>& call);
// Seconds of one call.
double SecondsOf(const std::function<void()>& call);

// Writes the rows as a JSON array. False where the file cannot be written.
bool WriteRows(const std::string& path, const std::vector<Row>& rows);

}  // namespace hotplate::bench
