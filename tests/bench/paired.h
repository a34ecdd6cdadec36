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
  // Of what the bound is: the ratio to the peer, the measured figure itself, or how far that is above the peer's.
  enum Of { kRatio, kItself, kDifference } of = kRatio;
};
constexpr Goal AtMost(double ratio) { return {ratio, false, Goal::kRatio}; }
constexpr Goal AtLeast(double ratio) { return {ratio, true, Goal::kRatio}; }
constexpr Goal ItselfAtMost(double value) { return {value, false, Goal::kItself}; }
constexpr Goal AbovePeerAtMost(double value) { return {value, false, Goal::kDifference}; }

// One line of the table. The ratio is the median of each round's own ratio, which a machine that is slow for a while
// does not change, and not the quotient of `measured` and `peer`, which are medians too; the same of the difference.
struct Row {
  std::string name;
  std::string unit;
  double measured = 0;
  double peer = 0;
  std::string peer_name;
  double ratio = 0;
  double difference = 0;  // in `unit`
  Goal goal;
  int rounds = 0;
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
