// The memory that a burst of large messages leaves behind. tests/faults/floods_test.py has those that are never ended.
#include <atomic>
#include <fstream>

#include "tests/e2e/wire_fixture.h"

namespace hotplate::e2e {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class WireMemoryTest : public WireTest {
 protected:
  std::size_t Figure(const std::string& key) const {
    std::ifstream lines("/proc/" + std::to_string(daemon_->pid()) + "/status");
    for (std::string word; lines >> word;) {
      std::size_t kib = 0;
      if (word == key && lines >> kib) return kib * 1024;
    }
    ADD_FAILURE() << "no " << key;
    return 0;
  }
  std::size_t Resident() const { return Figure("VmRSS:"); }
};

TEST_F(WireMemoryTest, EachCallOfAFloodEndsAndItsMemoryComesBack) {
  constexpr std::size_t kClients = 4, kCalls = 90, kInbox = 64 * kMiB, kArrays = 64 * kMiB;
  Start({"--array-bytes", std::to_string(kArrays), "--inbox-bytes", std::to_string(kInbox)});
  const std::size_t before = Resident();
  struct Call {
    std::unique_ptr<grpc::ClientContext> context;
    v1::ExecuteJobRequest request;
    v1::ExecuteJobResponse response;
  };
  std::vector<std::unique_ptr<v1::Jobs::Stub>> stubs;
  std::vector<std::unique_ptr<Call>> calls;
  std::atomic<std::size_t> good = 0, ended = 0;
  const v1::JobSpec job = VectorAdd(std::vector<float>(7 * kMiB / 2 / sizeof(float), 1));
  for (std::size_t client = 0; client < kClients; ++client) {
    stubs.push_back(v1::Jobs::NewStub(daemon_->Channel()));
    const Caller caller = Caller::Of(*daemon_);
    for (std::size_t i = 0; i < kCalls; ++i) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      call.context = caller.Context();
      *call.request.mutable_job() = job;
      const auto note = [&](const grpc::Status& status) {
        if (status.ok()) ++good;
        ++ended;
      };
      stubs.back()->async()->Execute(call.context.get(), &call.request, &call.response, note);
    }
  }
  v1::GetServerInfoResponse info;
  // gRPC may end some of anybody's calls.
  EXPECT_TRUE(WaitUntil([&] { return server_->GetInfo(caller_->Context().get(), {}, &info).ok(); }));
  ASSERT_TRUE(WaitUntil([&] { return ended == calls.size(); }));
  EXPECT_GT(good, 0u);
  calls.clear();
  stubs.clear();
  // The results of some are kept, and the ends of arenas (server/spare_memory.cpp).
  EXPECT_TRUE(WaitUntil([&] { return Resident() < before + kArrays + 64 * kMiB; })) << Resident() / kMiB << " MiB";
  std::vector<float> small(10, 1);
  v1::ExecuteJobResponse response;
  EXPECT_TRUE(Execute(VectorAdd(small), response).ok());
}

}  // namespace
}  // namespace hotplate::e2e
