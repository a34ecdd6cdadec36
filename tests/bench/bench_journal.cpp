// How many detached jobs a second the journal acknowledges, beside a bare group commit: one thread, one table, SQLite
// in WAL mode with synchronous=FULL, the same callers. Both in the same run, in turns. And how long 100 000 waiting
// jobs take to be read back.
//   bench_journal [FOLDER] [SECONDS]     prints JSON, one line a measurement
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/journal/journal.h"

namespace {

namespace journal = hotplate::journal;
using Clock = std::chrono::steady_clock;
using hotplate::CondVar;
using hotplate::Mutex;
using hotplate::MutexLock;

constexpr std::size_t kRequestBytes = 300;  // a small job's request

// What one would write without a journal: the callers queue their rows and wait for the group's commit.
class BareGroupCommit {
 public:
  explicit BareGroupCommit(const std::string& path) : database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
    database_.exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
    database_.exec("CREATE TABLE jobs(number INTEGER PRIMARY KEY, request BLOB)");
    thread_ = std::thread([this] { Loop(); });
  }
  ~BareGroupCommit() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      work_.NotifyOne();
    }
    thread_.join();
  }

  void Submit(std::uint64_t number, const std::string& request) {
    Row row{.number = number, .request = &request};
    MutexLock lock(mutex_);
    queue_.push_back(&row);
    work_.NotifyOne();
    while (!row.done) row.written.Wait(mutex_);
  }

 private:
  struct Row {
    std::uint64_t number;
    const std::string* request;
    bool done = false;
    CondVar written = {};
  };

  void Loop() {
    SQLite::Statement insert(database_, "INSERT INTO jobs VALUES(?,?)");
    MutexLock lock(mutex_);
    while (true) {
      while (queue_.empty() && !stop_) work_.Wait(mutex_);
      if (queue_.empty()) return;
      const std::vector<Row*> group = std::exchange(queue_, {});
      lock.Unlock();
      database_.exec("BEGIN IMMEDIATE");
      for (const Row* const row : group) {
        insert.bind(1, static_cast<std::int64_t>(row->number));
        insert.bindNoCopy(2, row->request->data(), static_cast<int>(row->request->size()));
        insert.exec();
        insert.reset();
      }
      database_.exec("COMMIT");
      lock.Lock();
      for (Row* const row : group) {
        row->done = true;
        row->written.NotifyOne();
      }
    }
  }

  SQLite::Database database_;
  Mutex mutex_;
  CondVar work_;
  std::vector<Row*> queue_;
  bool stop_ = false;
  std::thread thread_;
};

journal::JobAccepted JobOf(std::uint64_t number) {
  journal::JobAccepted job;
  job.number = number;
  job.time = journal::WallTime::clock::now();
  job.owner = "owner";
  job.session = "a7d5f3c1b2";
  job.request_key = "owner/7f0c2e9a-1b5d-4c3e-9f61-" + std::to_string(number);
  job.kernel = "matmul";
  job.label = "sweep";
  job.request = std::string(kRequestBytes, 'r');
  return job;
}

std::unique_ptr<journal::Journal> OpenJournal(const std::string& folder) {
  auto opened =
      journal::Journal::Open({.folder = folder, .life = {.generation = "bench", .name = "bench", .node = "here"}});
  if (!opened.ok()) {
    std::fprintf(stderr, "bench_journal: %s\n", opened.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(opened);
}

struct Measured {
  double per_second = 0, p50_us = 0, p99_us = 0;
};

Measured Measure(int callers, std::chrono::duration<double> span, std::atomic<std::uint64_t>& number,
                 const std::function<void(std::uint64_t)>& submit) {
  std::vector<std::vector<double>> times(static_cast<std::size_t>(callers));
  std::vector<std::thread> threads;
  const Clock::time_point begin = Clock::now();
  for (auto& own : times) {
    threads.emplace_back([&] {
      while (Clock::now() - begin < span) {
        const Clock::time_point before = Clock::now();
        submit(++number);
        own.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<double> all;
  for (const auto& own : times) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end());
  return {static_cast<double>(all.size()) / seconds, all[all.size() / 2], all[all.size() * 99 / 100]};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void BenchSubmits(const std::string& folder, double seconds) {
  constexpr int kRounds = 5;
  for (const int callers : {1, 8, 64}) {
    std::vector<double> ours, bare, ours_p99, bare_p99, ratios, p99_ratios;
    std::atomic<std::uint64_t> number = 0;
    const std::string of_ours = folder + "/ours" + std::to_string(callers);
    BareGroupCommit peer(folder + "/bare" + std::to_string(callers) + ".sqlite");
    const std::unique_ptr<journal::Journal> opened = OpenJournal(of_ours);
    const std::string request(kRequestBytes, 'r');
    std::atomic<int> failed = 0;
    for (int round = 0; round < kRounds; ++round) {
      const std::chrono::duration<double> span(seconds / kRounds);
      const auto bare_now = [&] {
        return Measure(callers, span, number, [&](std::uint64_t n) { peer.Submit(n, request); });
      };
      const auto ours_now = [&] {
        return Measure(callers, span, number, [&](std::uint64_t n) { failed += opened->Write(JobOf(n)).ok() ? 0 : 1; });
      };
      Measured one = round % 2 == 0 ? bare_now() : ours_now(), other = round % 2 == 0 ? ours_now() : bare_now();
      if (round % 2 != 0) std::swap(one, other);
      bare.push_back(one.per_second), bare_p99.push_back(one.p99_us);
      ours.push_back(other.per_second), ours_p99.push_back(other.p99_us);
      ratios.push_back(other.per_second / one.per_second), p99_ratios.push_back(other.p99_us / one.p99_us);
    }
    std::printf(
        "{\"what\":\"durable submits\",\"callers\":%d,\"per_second\":%.0f,\"bare_per_second\":%.0f,"
        "\"ratio\":%.3f,\"p99_us\":%.0f,\"bare_p99_us\":%.0f,\"p99_ratio\":%.2f,\"failed\":%d}\n",
        callers, Median(ours), Median(bare), Median(ratios), Median(ours_p99), Median(bare_p99), Median(p99_ratios),
        failed.load());
    std::fflush(stdout);
  }
}

void BenchRecovery(const std::string& folder) {
  constexpr std::uint64_t kJobs = 100'000;
  {
    const std::unique_ptr<journal::Journal> opened = OpenJournal(folder);
    for (std::uint64_t i = 1; i <= kJobs; ++i) {
      journal::JobAccepted job = JobOf(i);
      journal::SpooledFile file;
      file.name = "a";
      file.file = "jobs/" + std::to_string(i) + "/input-a.npy";
      file.signature = hotplate::Signature{.dtype = hotplate::DType::kFloat32, .shape = {1000, 1000}};
      if (i % 10 == 0) job.inputs.push_back(file);
      opened->Append(std::move(job), journal::Durability::kBehind);
    }
    if (!opened->Write(JobOf(kJobs + 1)).ok()) std::exit(1);
  }  // as after a kill: the log is still there
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<journal::Journal> opened = OpenJournal(folder);
  const auto found = opened->Recover({});
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("{\"what\":\"recovery\",\"jobs\":%zu,\"seconds\":%.3f}\n", found.ok() ? found->unfinished.size() : 0,
              seconds);
}

// What a caller of an attached job pays.
void BenchNotes(const std::string& folder) {
  const std::unique_ptr<journal::Journal> opened = OpenJournal(folder);
  constexpr int kNotes = 1'000'000;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < kNotes; ++i) {
    journal::AttachedJob job;
    job.number = static_cast<std::uint64_t>(i) + 1;
    job.kernel = "vector_add";
    job.label = "loop";
    job.ended = journal::WallTime::clock::now();
    opened->Note(std::move(job), [] { return std::string(); });
  }
  const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kNotes;
  std::printf("{\"what\":\"note of an attached job\",\"ns\":%.0f}\n", ns);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = (argc > 1 ? std::string(argv[1]) : "/tmp") + "/bench_journal." + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  BenchSubmits(folder, argc > 2 ? std::atof(argv[2]) : 10);
  BenchRecovery(folder + "/recovery");
  BenchNotes(folder + "/notes");
  std::filesystem::remove_all(folder);
}
