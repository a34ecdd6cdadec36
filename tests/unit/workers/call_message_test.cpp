// Messages between the daemon and a worker. What comes from a worker may be wrong in any way.
#include "server/workers/call_message.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "server/workers/function_table.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;

template <typename T>
void Put(std::string& text, T number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

struct Described {
  std::int32_t dtype = 13;  // float64
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, bytes = 0;
};

void PutText(std::string& text, const std::string& one) {
  Put(text, static_cast<std::uint32_t>(one.size()));
  text += one;
}

std::string ResultOf(const std::vector<Described>& arrays, const std::string& data = "",
                     const std::vector<CallRef>& refs = {}) {
  std::string text;
  Put(text, std::uint32_t{1});
  Put(text, static_cast<std::uint32_t>(arrays.size()));
  Put(text, std::int64_t{5});
  Put(text, std::int64_t{6});
  Put(text, std::uint64_t{7});
  for (const Described& one : arrays) {
    Put(text, one.dtype);
    Put(text, static_cast<std::uint32_t>(one.shape.size()));
    Put(text, one.begin);
    Put(text, one.bytes);
    for (const std::int64_t size : one.shape) Put(text, size);
  }
  Put(text, static_cast<std::uint32_t>(refs.size()));
  for (const CallRef& ref : refs) {
    Put(text, ref.number);
    PutText(text, ref.type);
  }
  return text + data;
}

std::string WhyWrong(const std::string& text, Descriptor segment = Descriptor()) {
  return std::string(CallReply::Of(text, std::move(segment)).status().message());
}

Descriptor Segment(std::size_t size, int seals) {
  Descriptor segment(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(segment.get(), static_cast<off_t>(size)), 0);
  EXPECT_EQ(seals == 0 ? 0 : fcntl(segment.get(), F_ADD_SEALS, seals), 0);
  return segment;
}

TEST(CallReply, IsAResultWithItsUse) {
  const std::string data(16, 'x');
  const absl::StatusOr<CallReply> reply = CallReply::Of(ResultOf({{.shape = {2}, .bytes = 16}}, data), Descriptor());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->kind, CallReply::Kind::kResult);
  EXPECT_EQ(reply->user.count(), 5);
  EXPECT_EQ(reply->system.count(), 6);
  EXPECT_EQ(reply->peak_bytes, 7u);
  ASSERT_EQ(reply->outputs.size(), 1u);
  EXPECT_EQ(reply->outputs[0].signature, (Signature{DType::kFloat64, {2}}));
  EXPECT_EQ(std::memcmp(reply->outputs[0].data.data(), data.data(), 16), 0);
}

TEST(CallReply, CutAnywhereIsRefused) {
  const std::string whole = ResultOf({{.shape = {2}, .bytes = 16}, {.dtype = 6, .shape = {}, .begin = 16, .bytes = 1}},
                                     std::string(17, 'x'), {{7, "Model"}, {8, ""}});
  ASSERT_TRUE(CallReply::Of(whole, Descriptor()).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(CallReply::Of(whole.substr(0, size), Descriptor()).ok()) << size;
  }
}

TEST(CallReply, NamesWhatStaysInItsWorker) {
  const absl::StatusOr<CallReply> reply = CallReply::Of(ResultOf({}, "", {{7, "Model"}, {9, "\xff"}}), Descriptor());
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->refs.size(), 2u);
  EXPECT_EQ(reply->refs[0].number, 7u);
  EXPECT_EQ(reply->refs[0].type, "Model");
  EXPECT_EQ(reply->refs[1].type, "\\xff");
  EXPECT_THAT(WhyWrong(ResultOf({}, "", std::vector<CallRef>(257))), HasSubstr("has 257 objects"));
}

TEST(CallReply, WrongArraysAreRefused) {
  EXPECT_THAT(WhyWrong(ResultOf({{.dtype = 99, .shape = {}, .bytes = 8}}, std::string(8, 'x'))), HasSubstr("unknown"));
  EXPECT_THAT(WhyWrong(ResultOf({{.shape = {1, 1, 1, 1, 1, 1, 1, 1, 1}, .bytes = 8}}, std::string(8, 'x'))),
              HasSubstr("unknown"));
  EXPECT_THAT(WhyWrong(ResultOf({{.shape = {2}, .bytes = 8}}, std::string(16, 'x'))), HasSubstr("not as large"));
  EXPECT_THAT(WhyWrong(ResultOf({{.shape = {-1}, .bytes = 8}}, std::string(8, 'x'))), HasSubstr("not as large"));
  EXPECT_THAT(WhyWrong(ResultOf({{.shape = {1}, .begin = 9, .bytes = 8}}, std::string(16, 'x'))),
              HasSubstr("outside of its data"));
  EXPECT_THAT(WhyWrong(ResultOf({{.shape = {1}, .begin = ~std::uint64_t{0} - 3, .bytes = 8}}, std::string(16, 'x'))),
              HasSubstr("outside of its data"));
  EXPECT_THAT(WhyWrong(ResultOf(std::vector<Described>(65))), HasSubstr("has 65 arrays"));
  std::string strange;
  Put(strange, std::uint32_t{9});
  strange += std::string(40, 'x');
  EXPECT_THAT(WhyWrong(strange), HasSubstr("no known kind"));
}

TEST(CallReply, ASegmentThatCouldShrinkIsRefused) {
  const std::string text = ResultOf({{.shape = {2}, .bytes = 16}});
  EXPECT_THAT(WhyWrong(text, Segment(16, 0)), HasSubstr("not sealed"));
  EXPECT_THAT(WhyWrong(text, Segment(16, F_SEAL_GROW)), HasSubstr("not sealed"));
  EXPECT_EQ(WhyWrong(text, Segment(16, F_SEAL_SHRINK)), "");
  EXPECT_THAT(WhyWrong(text, Segment(15, F_SEAL_SHRINK)), HasSubstr("outside of its data"));
  EXPECT_THAT(WhyWrong(text, Segment(0, F_SEAL_SHRINK)), HasSubstr("outside of its data"));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor other(ends[1]);
  EXPECT_THAT(WhyWrong(text, Descriptor(ends[0])), HasSubstr("not sealed"));
}

TEST(CallError, TravelsWithAStatus) {
  std::string text;
  Put(text, std::uint32_t{2});
  Put(text, std::uint32_t{0});
  for (int i = 0; i < 3; ++i) Put(text, std::uint64_t{0});
  for (const std::string& one : std::vector<std::string>{"builtins.ValueError", "no", "Traceback", ""}) {
    Put(text, static_cast<std::uint32_t>(one.size()));
    text += one;
  }
  const absl::StatusOr<CallReply> reply = CallReply::Of(text, Descriptor());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->kind, CallReply::Kind::kError);
  absl::Status status = absl::AbortedError("it failed");
  EXPECT_FALSE(CallErrorOf(status).has_value());
  AddTo(status, reply->error);
  const std::optional<CallError> error = CallErrorOf(status);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->type, "builtins.ValueError");
  EXPECT_EQ(error->message, "no");
  EXPECT_EQ(error->traceback, "Traceback");
}

std::shared_ptr<HostBuffer> BufferOf(const std::vector<double>& values, std::uint64_t identity) {
  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(values.size() * sizeof(double), identity);
  std::memcpy(buffer->data(), values.data(), buffer->size());
  return buffer;
}

CallArray ArrayOf(const std::shared_ptr<HostBuffer>& buffer) {
  return {{DType::kFloat64, {static_cast<std::int64_t>(buffer->size() / sizeof(double))}}, buffer->bytes(), buffer};
}

TEST(CallMessage, SmallArraysAreInIt) {
  SegmentCache cache;
  const std::shared_ptr<HostBuffer> buffer = BufferOf(std::vector<double>(100, 1.5), 7);
  const absl::StatusOr<CallMessage> message =
      MessageOfCall(std::string(kFunctionId, 'f'), "code", {ArrayOf(buffer), ArrayOf(buffer)}, cache);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_TRUE(message->segments.empty());
  EXPECT_THAT(message->text, HasSubstr("code"));
  EXPECT_LT(message->text.size(), kMostMessage);
}

TEST(CallMessage, AnObjectIsNamedByItsNumber) {
  SegmentCache cache;
  CallArray object = ArrayOf(BufferOf(std::vector<double>(100'000), 7));
  object.object = 0x0102030405060708;
  const absl::StatusOr<CallMessage> message =
      MessageOfCall(std::string(kFunctionId, 'f'), "", {ArrayOf(BufferOf({1.0}, 0)), object}, cache);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_TRUE(message->segments.empty());
  std::string described;
  Put(described, std::int32_t{0});
  Put(described, std::uint32_t{0});
  Put(described, *object.object);
  Put(described, std::uint64_t{0});
  EXPECT_THAT(message->text, HasSubstr(described));
}

TEST(CallMessage, WhatIsToBeForgottenComesInPieces) {
  std::vector<std::uint64_t> numbers(5001);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::size_t bytes = 0;
  for (int pieces = 1; !numbers.empty(); ++pieces) {
    const std::string text = TakeForgetMessage(numbers);
    EXPECT_LT(text.size(), kMostInline);
    bytes += text.size() - 8;
    EXPECT_LE(pieces, 3);
  }
  EXPECT_EQ(bytes, 5001 * 8u);
}

TEST(CallMessage, AnArrayThatStaysIsCopiedOnceAndGoesWithIt) {
  SegmentCache cache;
  std::vector<double> values(100'000);
  std::iota(values.begin(), values.end(), 0);
  const std::shared_ptr<HostBuffer> small = BufferOf({1.0}, 0), without = BufferOf(values, 0);
  std::shared_ptr<HostBuffer> stays = BufferOf(values, 7), other = BufferOf(values, 8);
  const auto segments = [&](const std::shared_ptr<HostBuffer>& large) {
    return MessageOfCall(std::string(kFunctionId, 'f'), "", {ArrayOf(small), ArrayOf(large)}, cache)->segments;
  };
  const auto first = segments(stays);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first, segments(stays));
  EXPECT_NE(first, segments(other));
  EXPECT_NE(segments(without), segments(without));
  double last = 0;
  ASSERT_EQ(pread(first[0]->get(), &last, sizeof(last), 8 * 99'999), 8);
  EXPECT_EQ(last, 99'999);
  const std::weak_ptr<const Descriptor> segment = segments(other)[0];
  other.reset();
  EXPECT_FALSE(segment.expired());
  segments(stays);
  EXPECT_TRUE(segment.expired());
}

TEST(FunctionTable, KeepsWhatWasUsedLast) {
  FunctionTable table;
  for (std::size_t i = 0; i <= FunctionTable::kMostEnvironments; ++i) {
    FunctionEnvironment environment;
    environment.id = std::to_string(i);
    table.Add(std::move(environment));
    EXPECT_TRUE(table.Environment("0").ok()) << i;
  }
  EXPECT_FALSE(table.Environment("1").ok());
  EXPECT_TRUE(table.Environment("2").ok());
  table.Add(FunctionCode{"f", "name", "code"});
  EXPECT_EQ((*table.Function("f"))->name, "name");
  EXPECT_THAT(std::string(table.Function("g").status().message()), HasSubstr("no function \"g\""));
}

}  // namespace
}  // namespace hotplate::server
