// Arrays up and down, whole and in pieces, against a daemon that breaks on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "client/lib/client.h"
#include "tests/unit/client/fake_daemon.h"

namespace hotplate::client {
namespace {

using testing::FakeDaemon;
using ::testing::HasSubstr;
using testing::Ramp;

ConnectOptions To(const FakeDaemon& daemon) {
  ConnectOptions options;
  options.directory = daemon.directory();
  options.server = "fake";
  return options;
}

class ArraysTest : public ::testing::TestWithParam<bool> {
 protected:
  ArraysTest() : daemon_({.tls = GetParam()}), client_(Client::Connect(To(daemon_))) {}
  void SetUp() override { ASSERT_TRUE(client_.ok()) << client_.status(); }

  FakeDaemon daemon_;
  absl::StatusOr<Client> client_;
};
INSTANTIATE_TEST_SUITE_P(Transport, ArraysTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Tls" : "Plain"; });

TEST_P(ArraysTest, ComeBackAsTheyWentUp) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{3'000'001}}) {
    const std::vector<float> values = Ramp(count);
    std::uint64_t up = 0, down = 0;
    const auto array = client_->Put(View(values, {static_cast<std::int64_t>(count)}),
                                    {.on_upload = [&](std::uint64_t done, std::uint64_t all) {
                                      EXPECT_GT(done, up);
                                      EXPECT_EQ(all, count * sizeof(float));
                                      up = done;
                                    }});
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(up, count * sizeof(float));
    const auto back = client_->Get(array->id(), [&](std::uint64_t done, std::uint64_t) { down = done; });
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(down, count * sizeof(float));
    EXPECT_EQ(back->signature, (Signature{DType::kFloat32, {static_cast<std::int64_t>(count)}}));
    ASSERT_EQ(back->buffer->size(), count * sizeof(float));
    EXPECT_TRUE(std::ranges::equal(back->buffer->bytes(), std::as_bytes(std::span(values))));
  }
}

TEST_P(ArraysTest, ABrokenUploadGoesOnWhereItBroke) {
  const std::vector<float> values = Ramp(4'000'000);
  daemon_.break_after = 3 << 20;
  daemon_.broken_transfers = 3;
  const auto array = client_->Put(View(values, {4'000'000}));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(daemon_.writes, 4);
  EXPECT_EQ(daemon_.bytes_written, values.size() * sizeof(float)) << "nothing was sent twice";
  const auto back = client_->Get(array->id());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::memcmp(back->buffer->data(), values.data(), back->buffer->size()), 0);
}

// A source and a taker of pieces, as files are, over transfers that break: nothing is sent, or taken, twice.
TEST_P(ArraysTest, PiecesGoOnWhereTheConnectionBroke) {
  const std::vector<float> values = Ramp(4'000'001);
  const auto bytes = std::as_bytes(std::span(values));
  const Signature signature{DType::kFloat32, {4'000'001}};
  const ArraySource source{signature, [bytes](std::uint64_t offset, std::span<std::byte> to) {
                             std::ranges::copy(bytes.subspan(offset, to.size()), to.begin());
                             return absl::OkStatus();
                           }};
  daemon_.break_after = 3 << 20;
  daemon_.broken_transfers = 3;
  const auto array = client_->Put(source);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(daemon_.writes, 4);
  EXPECT_EQ(daemon_.bytes_written, bytes.size()) << "nothing was sent twice";
  EXPECT_EQ(array->bytes_written(), bytes.size());

  daemon_.broken_transfers = 3;
  std::vector<std::byte> back;
  std::uint64_t done = 0;
  const auto got = client_->GetPieces(
      array->id(),
      [&](const Signature& of, std::uint64_t offset, std::span<const std::byte> piece) {
        EXPECT_EQ(of, signature);
        EXPECT_EQ(offset, back.size());
        back.insert(back.end(), piece.begin(), piece.end());
        return absl::OkStatus();
      },
      [&](std::uint64_t now, std::uint64_t) { done = now; });
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->signature, signature);
  EXPECT_EQ(got->buffer, nullptr);
  EXPECT_EQ(done, bytes.size());
  EXPECT_TRUE(std::ranges::equal(back, bytes));
}

TEST_P(ArraysTest, AnErrorOfThePiecesEndsTheCall) {
  const Signature signature{DType::kFloat32, {4'000'000}};
  const ArraySource source{signature, [](std::uint64_t offset, std::span<std::byte> to) {
                             std::ranges::fill(to, std::byte{1});
                             return offset < (6 << 20) ? absl::OkStatus() : absl::InvalidArgumentError("x.npy: cut");
                           }};
  EXPECT_EQ(client_->Put(source).status(), absl::InvalidArgumentError("x.npy: cut"));
  EXPECT_EQ(daemon_.array_count(), 0u) << "what was sent of it was freed";
  const auto array = client_->Put(View(Ramp(4'000'000), {4'000'000}));
  ASSERT_TRUE(array.ok());
  int pieces = 0;
  const auto full = [&](const Signature&, std::uint64_t, std::span<const std::byte>) {
    return ++pieces < 2 ? absl::OkStatus() : absl::DataLossError("y.npy: no space");
  };
  EXPECT_EQ(client_->GetPieces(array->id(), full).status(), absl::DataLossError("y.npy: no space"));
  EXPECT_EQ(pieces, 2);
}

TEST_P(ArraysTest, AnArrayWithoutBytesIsOneEmptyPiece) {
  const auto array = client_->Put(View(std::vector<float>(), {0}));
  ASSERT_TRUE(array.ok());
  int pieces = 0;
  const auto take = [&](const Signature& signature, std::uint64_t, std::span<const std::byte> piece) {
    ++pieces;
    EXPECT_TRUE(piece.empty());
    EXPECT_EQ(signature.shape, (Shape{0}));
    return absl::OkStatus();
  };
  EXPECT_TRUE(client_->GetPieces(array->id(), take).ok());
  EXPECT_EQ(pieces, 1);
}

TEST_P(ArraysTest, AnUploadWaitsForTheDaemonToNoticeThatItBroke) {
  ConnectOptions options = To(daemon_);
  options.retries = 1;
  auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok());
  const std::vector<float> values = Ramp(4'000'000);
  daemon_.break_after = 3 << 20;
  daemon_.broken_transfers = 1;
  daemon_.unnoticed_breaks = 4;
  const auto array = client->Put(View(values, {4'000'000}));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(daemon_.writes, 6);
  EXPECT_EQ(daemon_.bytes_written, values.size() * sizeof(float)) << "nothing was sent twice";
}

TEST_P(ArraysTest, AnUploadWaitsForThatNoLongerThanForAConnection) {
  ConnectOptions options = To(daemon_);
  options.reconnect = std::chrono::milliseconds(200);
  auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok());
  daemon_.break_after = 3 << 20;
  daemon_.broken_transfers = 1;
  daemon_.unnoticed_breaks = 1'000'000;
  const absl::Status status = client->Put(View(Ramp(4'000'000), {4'000'000})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("another stream"));
  EXPECT_GE(daemon_.writes, 2 + options.retries);
}

TEST_P(ArraysTest, ABrokenDownloadGoesOnWhereItBroke) {
  const std::vector<float> values = Ramp(4'000'000);
  const auto array = client_->Put(View(values, {4'000'000}));
  ASSERT_TRUE(array.ok());
  daemon_.break_after = 3'000'000;
  daemon_.broken_transfers = 3;
  std::vector<float> back(values.size());
  std::uint64_t last = 0;
  const absl::Status status =
      client_->GetInto(array->id(), std::as_writable_bytes(std::span(back)), [&](std::uint64_t done, std::uint64_t) {
        EXPECT_GT(done, last);
        last = done;
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(back, values);
  EXPECT_EQ(last, values.size() * sizeof(float)) << "the progress was told to its end";
  EXPECT_EQ(daemon_.reads, 4);
}

// By its id, whatever has the name by then: this daemon knows no other reads.
TEST_P(ArraysTest, ABrokenReadOfAPartGoesOnWhereItBrokeInTheSameArray) {
  const std::vector<float> values = Ramp(4'000'000);
  ASSERT_TRUE(client_->Put(View(values, {4'000'000}), {.name = "A"}).ok());
  daemon_.break_after = 3'000'000;
  daemon_.broken_transfers = 2;
  std::vector<float> part(2'000'000);
  const absl::Status status = client_->GetRange("A", 4'000'000, std::as_writable_bytes(std::span(part)));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 1'000'000));
  EXPECT_EQ(daemon_.reads, 3);
}

TEST_P(ArraysTest, AnUploadThatNeverGetsThroughEnds) {
  daemon_.break_after = 0;
  daemon_.broken_transfers = 1000;
  const std::vector<float> values = Ramp(100);
  // Each attempt brings the daemon all there is, so that the first break already leaves nothing to do.
  EXPECT_TRUE(client_->Put(View(values, {100})).ok());
  EXPECT_EQ(daemon_.writes, 1);
  const std::vector<float> gone = Ramp(4'000'000);
  daemon_.Stop();
  EXPECT_EQ(client_->Put(View(gone, {4'000'000})).status().code(), absl::StatusCode::kUnavailable);
}

TEST_P(ArraysTest, AStalledUploadEndsAtTheDeadlineAndGivesTheMemoryBack) {
  ConnectOptions options = To(daemon_);
  options.deadline = std::chrono::milliseconds(300);
  auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok());
  daemon_.stall_uploads = true;
  auto values = std::make_unique<std::vector<float>>(Ramp(20'000'000));
  const absl::Status status = client->Put(View(*values, {20'000'000})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  values.reset();  // under AddressSanitizer this would show a reader that is left over
  daemon_.stall_uploads = false;
  // 300 ms may be too little for one of them.
  EXPECT_TRUE(testing::Eventually([&] { return client->Put(View(Ramp(100), {100})).ok(); }));
}

TEST_P(ArraysTest, ACancelledUploadEnds) {
  Cancellation cancellation;
  daemon_.stall_uploads = true;
  const std::vector<float> values = Ramp(20'000'000);
  std::thread canceller([&] {
    EXPECT_TRUE(testing::Eventually([&] { return daemon_.writes > 0; }));
    cancellation.Cancel();
  });
  const absl::Status status = client_->Put(View(values, {20'000'000}), {}, &cancellation).status();
  canceller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_EQ(daemon_.array_count(), 0u) << "what was begun is freed";
}

TEST_P(ArraysTest, BytesThatAreNotTheShapesAreRefusedHere) {
  const std::vector<float> values = Ramp(10);
  const absl::Status status = client_->Put(View(values, {11}), {.name = "A"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("A"), HasSubstr("40"), HasSubstr("44"), HasSubstr("[11]")));
  EXPECT_EQ(daemon_.array_count(), 0u);
}

TEST_P(ArraysTest, ADestinationOfAnotherSizeIsRefusedHere) {
  const std::vector<float> values = Ramp(10);
  const auto array = client_->Put(View(values, {10}), {.name = "A"});
  ASSERT_TRUE(array.ok());
  std::vector<std::byte> destination(39);
  const absl::Status status = client_->GetInto("A", destination);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("40"), HasSubstr("39")));
}

TEST_P(ArraysTest, AnUnknownArrayIsNotFound) {
  EXPECT_EQ(client_->Get("nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->Free("nothing").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace hotplate::client
