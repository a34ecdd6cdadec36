// A journal and a spool in a folder of the test's own, and records to put into them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/journal/journal.h"
#include "server/journal/prune.h"
#include "server/journal/spool.h"
#include "server/journal/verify.h"
#include "tests/temporary_folder.h"

namespace hotplate::journal {

inline WallTime At(std::int64_t seconds) { return WallTime(std::chrono::seconds(1'764'000'000 + seconds)); }

inline std::string RequestOf(std::uint64_t number) {
  return "request " + std::to_string(number) + std::string("\0\xff\n bytes", 9);
}

inline JobAccepted Accepted(std::uint64_t number, std::vector<SpooledFile> inputs = {}) {
  return {.number = number,
          .time = At(static_cast<std::int64_t>(number)),
          .owner = "me",
          .session = "s1",
          .request_key = "me/key " + std::to_string(number),
          .payload_hash = Sha256Of(RequestOf(number)),
          .kernel = "axpy",
          .label = "sweep",
          .priority = -3,
          .time_limit = std::chrono::minutes(5),
          .request = RequestOf(number),
          .inputs = std::move(inputs)};
}

inline JobStarted Started(std::uint64_t number, std::uint64_t sequence = 2) {
  return {.number = number, .sequence = sequence, .time = At(1000), .device = "gpu0"};
}

inline JobEnded Ended(std::uint64_t number, std::vector<SpooledFile> results = {}, std::uint64_t sequence = 3) {
  return {.number = number,
          .sequence = sequence,
          .time = At(2000 + static_cast<std::int64_t>(number)),
          .end = "end " + std::to_string(number),
          .outputs = results.empty() ? "outputs" : "",
          .results = std::move(results),
          .use = {.device_time = std::chrono::seconds(2), .energy_joules = 50}};
}

inline AttachedJob Attached(std::uint64_t number, WallTime ended, const std::string& label = "loop") {
  return {
      .number = number,
      .owner = "me",
      .session = "s1",
      .kernel = "axpy",
      .label = label,
      .device = "gpu0",
      .accepted = At(0),
      .ended = ended,
      .started = At(0),
      .end = "receipt",
      .use = {
          .device_time = std::chrono::milliseconds(3), .gpu_time = std::chrono::milliseconds(3), .energy_joules = 0.5}};
}

class JournalTest : public ::testing::Test {
 protected:
  JournalOptions Options(const std::string& generation = "g1") const {
    JournalOptions options{.folder = folder_.File("journal")};
    options.life = {.generation = generation, .name = "local", .node = "b-cn1", .slurm_job = "12"};
    return options;
  }

  std::unique_ptr<Journal> Open(JournalOptions options) {
    absl::StatusOr<std::unique_ptr<Journal>> journal = Journal::Open(std::move(options));
    if (!journal.ok()) throw std::runtime_error(journal.status().ToString());
    return *std::move(journal);
  }
  std::unique_ptr<Journal> Open() { return Open(Options()); }

  std::unique_ptr<Spool> OpenSpool(Journal& journal, SpoolLimits limits = {.free_bytes = 0}) {
    absl::StatusOr<std::unique_ptr<Spool>> spool = Spool::Open({.root = folder_.File("spool"),
                                                                .journal_id = journal.id(),
                                                                .used_bytes = SpooledBytes(journal).value(),
                                                                .limits = limits});
    if (!spool.ok()) throw std::runtime_error(spool.status().ToString());
    return *std::move(spool);
  }

  VerifyReport VerifyAll(Journal& journal) {
    const absl::StatusOr<VerifyReport> report =
        Verify([&](absl::FunctionRef<absl::Status(Index&)> work) { return journal.With(work); }, folder_.File("spool"));
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(VerifyReport());
  }

  TemporaryFolder folder_;
};

// The elements of an array, as an item of the spool.
inline SpoolItem Item(const std::string& name, const std::vector<float>& elements, bool shared = false) {
  return {.name = name,
          .signature = Signature{.dtype = DType::kFloat32, .shape = {static_cast<std::int64_t>(elements.size())}},
          .bytes = std::as_bytes(std::span(elements)),
          .shared = shared};
}

inline void Note(Journal& journal, const AttachedJob& job) {
  journal.Note(job, [&] { return job.end; });
}

}  // namespace hotplate::journal
