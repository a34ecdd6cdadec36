#include "tests/bench/paired.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

namespace hotplate::bench {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Row Compare(const std::string& name, const std::string& unit, int rounds, const std::function<double()>& ours,
            const std::string& peer_name, const std::function<double()>& peer, Goal goal) {
  std::vector<double> measured, bare, ratios, differences;
  ours();  // a first round of each warms caches and connections, and does not count
  peer();
  for (int round = 0; round < rounds; ++round) {
    const bool ours_first = round % 2 == 0;
    const double before = ours_first ? 0 : peer();
    measured.push_back(ours());
    bare.push_back(ours_first ? peer() : before);
    ratios.push_back(measured.back() / bare.back());
    differences.push_back(measured.back() - bare.back());
  }
  Row row{name, unit, Median(measured), Median(bare), peer_name, Median(ratios), Median(differences), goal, rounds};
  std::printf("  %s: median %.4g %s, of the %s %.4g; median of the rounds' ratios %.3g\n", name.c_str(), row.measured,
              unit.c_str(), peer_name.c_str(), row.peer, row.ratio);
  std::fflush(stdout);
  return row;
}

double SecondsOf(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double MicrosecondsOf(int calls, const std::function<void()>& call) {
  std::vector<double> times;
  times.reserve(calls);
  for (int i = 0; i < calls; ++i) times.push_back(1e6 * SecondsOf(call));
  return Median(std::move(times));
}

// As report.py knows them, in the order of Goal::Of.
constexpr const char* kGoalOf[] = {"ratio", "measured", "difference"};

bool WriteRows(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << "[";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    out << (i ? ",\n " : "") << R"({"name": ")" << row.name << R"(", "unit": ")" << row.unit << R"(", "measured": )"
        << row.measured << R"(, "peer": )" << row.peer << R"(, "peer_name": ")" << row.peer_name << R"(", "ratio": )"
        << row.ratio << R"(, "difference": )" << row.difference << R"(, "goal": )" << row.goal.bound
        << R"(, "at_least": )" << (row.goal.at_least ? "true" : "false") << R"(, "goal_of": ")" << kGoalOf[row.goal.of]
        << R"(", "rounds": )" << row.rounds << "}";
  }
  out << "]\n";
  return static_cast<bool>(out.flush());
}

}  // namespace hotplate::bench
