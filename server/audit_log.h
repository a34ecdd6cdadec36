// The audit log: who did what by which token, as JSON lines in a file that outlives the daemon (deploy/docs/security.md
// has the fields). Lines gather in memory, and one thread appends them: no caller waits for a disk, and one that is
// full costs lines, which are counted. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"

namespace hotplate::server {

class AuditLog {
 public:
  using Time = std::chrono::system_clock::time_point;

  // A sum is written when it is that old.
  static constexpr std::chrono::minutes kSpan{1};
  // How many lines one token may cause in this time, and how many wait while the disk does not answer. What it does
  // beyond is summed: so that it takes long to push what others did out of the file, and what waits is of many.
  static constexpr std::uint32_t kLinesOfToken = 300;
  static constexpr std::size_t kMostSums = 10'000;  // at a time; the owner's always find room

  struct Options {
    std::string file;
    std::uint64_t bytes = std::uint64_t{16} << 20;  // then it becomes FILE.1, in place of the one before
    std::string generation;                         // of the daemon
    std::function<void(const std::string& line)> warn;
    std::function<Time()> now = std::chrono::system_clock::now;
    // Room for lines that are not written yet: what some forty tokens may cause. The owner's and the
    // daemon's own always find room.
    std::size_t pending_bytes = std::size_t{16} << 20;
  };

  struct Act {
    std::string_view act = {};     // "cancel"
    std::string_view token = {};   // the name of the caller's; empty: the daemon itself, or a stranger
    std::string_view peer = {};    // the caller's address
    std::string_view object = {};  // "4711": what it was done to
    std::string_view name = {};  // of the object, where it has one: a job's kernel, a program's label, an array's name
    absl::Status result = {};
    std::string_view certificate = {};  // of a call that was refused: whose it came with, as TLS has proved
  };

  // PERMISSION_DENIED: others can read, change or replace the file. FAILED_PRECONDITION: it cannot be written.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(Options options);
  ~AuditLog();  // writes what there is

  // A line of its own, as long as the token may cause one.
  void Note(const Act& act);
  // One of perhaps thousands a second: acts that differ in nothing but their time are counted, and are one line.
  void Count(const Act& act);

  // Writes the lines that wait, and the sums: all of them, or none before their time. Waits for the disk.
  enum class Sums { kWhenDue, kAll };
  void Write(Sums which);

 private:
  struct Sum {
    std::string act, token, peer, object, name, certificate;
    absl::Status result;  // with the reason of the first
    std::uint64_t count = 0;
    Time since;
  };
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, std::string_view,
                         std::string_view, absl::StatusCode>;
  // Each key looks into its sum: nothing is copied to find one.
  using AllSums = std::map<Key, std::unique_ptr<Sum>>;

  explicit AuditLog(Options options);
  void Work();
  static Act ActIn(const Sum& sum);  // looks into it
  static Key KeyOf(const Act& act);
  bool Increment(const Act& act) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Add(Act act) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // to the sums
  std::chrono::nanoseconds UntilDue(Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Line(Time time, const Act& act, const Sum* sum) const;

  const Options options_;
  Mutex writing_;                                   // taken before mutex_
  bool failing_ ABSL_GUARDED_BY(writing_) = false;  // the last time that it wrote
  Mutex mutex_;
  CondVar more_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::string pending_ ABSL_GUARDED_BY(mutex_);  // whole lines
  std::uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;
  // Both of the time since span_.
  AllSums sums_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::uint32_t, std::less<>> lines_of_ ABSL_GUARDED_BY(mutex_);  // by token
  Time span_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace hotplate::server
