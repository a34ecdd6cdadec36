// hotplate.v1.Arrays with the generated stub on the other side.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/service/test_server.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;

class ArraysTest : public ServerTest {
 protected:
  v1::Array Create(std::int64_t bytes, const std::string& name = "") {
    v1::CreateArrayRequest request;
    request.mutable_signature()->set_dtype(v1::DTYPE_UINT8);
    request.mutable_signature()->add_shape(bytes);
    request.set_name(name);
    v1::CreateArrayResponse response;
    const grpc::Status status = arrays_->Create(Call(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.array();
  }
  grpc::Status Write(const std::vector<v1::WriteArrayRequest>& messages, v1::Array* array = nullptr) {
    Call call;
    v1::WriteArrayResponse response;
    const auto writer = arrays_->Write(call, &response);
    for (const v1::WriteArrayRequest& message : messages) writer->Write(message);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (array != nullptr) *array = response.array();
    return status;
  }
  static v1::WriteArrayRequest Chunk(const std::string& id, std::uint64_t offset, const std::string& data) {
    v1::WriteArrayRequest chunk;
    chunk.set_array_id(id);
    chunk.set_offset(offset);
    chunk.set_data(data);
    return chunk;
  }
  grpc::Status Read(const std::string& id, std::uint64_t offset, std::uint64_t length, std::string* data) {
    Call call;
    v1::ReadArrayRequest request;
    request.set_array_id(id);
    request.set_offset(offset);
    request.set_length(length);
    const auto reader = arrays_->Read(call, request);
    v1::ReadArrayResponse response;
    data->clear();
    while (reader->Read(&response)) {
      EXPECT_EQ(response.offset(), offset + data->size());
      *data += response.data();
    }
    return reader->Finish();
  }
  v1::Array Describe(const std::string& id) {
    v1::DescribeArrayRequest request;
    request.set_array_id(id);
    v1::DescribeArrayResponse response;
    EXPECT_TRUE(arrays_->Describe(Call(), request, &response).ok());
    return response.array();
  }
};

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  return bytes;
}

TEST_F(ArraysTest, ThereAndBack) {
  const std::string bytes = Pattern(9'000'001);
  const v1::Array array = Create(static_cast<std::int64_t>(bytes.size()), "big");
  EXPECT_EQ(array.state(), v1::ARRAY_STATE_WRITING);
  std::vector<v1::WriteArrayRequest> chunks;
  for (std::size_t at = 0; at < bytes.size(); at += 4 << 20) {
    chunks.push_back(Chunk(at == 0 ? array.id() : "", 0, bytes.substr(at, 4 << 20)));
  }
  v1::Array written;
  const grpc::Status status = Write(chunks, &written);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(written.state(), v1::ARRAY_STATE_READY);
  EXPECT_EQ(written.bytes_written(), bytes.size());
  std::string data;
  ASSERT_TRUE(Read("big", 0, 0, &data).ok());
  EXPECT_TRUE(data == bytes);
  ASSERT_TRUE(Read(array.id(), 5'000'000, 3'000'000, &data).ok());
  EXPECT_TRUE(data == bytes.substr(5'000'000, 3'000'000));
  ASSERT_TRUE(Read(array.id(), bytes.size(), 0, &data).ok());
  EXPECT_EQ(data, "");
  EXPECT_EQ(Read(array.id(), bytes.size() + 1, 0, &data).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Read(array.id(), 1, bytes.size(), &data).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Read(array.id(), ~0ull, ~0ull, &data).error_code(), grpc::StatusCode::OUT_OF_RANGE);
}

TEST_F(ArraysTest, AnEmptyArray) {
  const v1::Array array = Create(0);
  std::string data = "x";
  const grpc::Status status = Read(array.id(), 0, 0, &data);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(data, "");
}

TEST_F(ArraysTest, AnUploadThatBreaksOffIsResumedWhereItStands) {
  const std::string bytes = Pattern(1000);
  const v1::Array array = Create(1000);
  v1::Array written;
  ASSERT_TRUE(Write({Chunk(array.id(), 0, bytes.substr(0, 400))}, &written).ok());
  EXPECT_EQ(written.state(), v1::ARRAY_STATE_WRITING);
  EXPECT_EQ(written.bytes_written(), 400u);
  std::string data;
  EXPECT_EQ(Read(array.id(), 0, 0, &data).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Write({Chunk(array.id(), 300, "x")}).error_code(), grpc::StatusCode::FAILED_PRECONDITION);

  {  // A client that vanishes in the middle.
    Call call;
    v1::WriteArrayResponse response;
    const auto writer = arrays_->Write(call, &response);
    ASSERT_TRUE(writer->Write(Chunk(array.id(), 400, bytes.substr(400, 100))));
    for (int i = 0; i < 6000 && Describe(array.id()).bytes_written() != 500; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    call->TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::Status status;
  for (int i = 0; i < 6000; ++i) {  // until the broken stream has let go of the array
    status = Write({Chunk(array.id(), 500, bytes.substr(500))}, &written);
    if (status.error_code() != grpc::StatusCode::FAILED_PRECONDITION) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(written.state(), v1::ARRAY_STATE_READY);
  ASSERT_TRUE(Read(array.id(), 0, 0, &data).ok());
  EXPECT_EQ(data, bytes);
}

TEST_F(ArraysTest, WritesThatAreWrong) {
  const v1::Array array = Create(10);
  EXPECT_EQ(Write({}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Write({Chunk("", 0, "x")}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Write({Chunk("a999", 0, "x")}).error_code(), grpc::StatusCode::NOT_FOUND);
  const grpc::Status status = Write({Chunk(array.id(), 0, "0123456789x")});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), testing::AllOf(HasSubstr("11 bytes"), HasSubstr("10 more")));
  EXPECT_EQ(Write({Chunk(array.id(), 0, "01"), Chunk("other", 0, "2")}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Describe(array.id()).bytes_written(), 2u);
  EXPECT_EQ(Write({Chunk(array.id(), 2, "23456789"), Chunk("", 0, "")}).error_code(), grpc::StatusCode::OK);
  EXPECT_NE(Write({Chunk(array.id(), 10, "x")}).error_code(), grpc::StatusCode::OK);
}

TEST_F(ArraysTest, SizesAreBoundedBeforeTheyAreUsed) {
  const auto create = [&](const v1::CreateArrayRequest& request) {
    v1::CreateArrayResponse response;
    return arrays_->Create(Call(), request, &response);
  };
  v1::CreateArrayRequest request;
  request.mutable_signature()->set_dtype(v1::DTYPE_FLOAT64);
  request.mutable_signature()->add_shape(std::int64_t{1} << 62);
  EXPECT_EQ(create(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.mutable_signature()->set_shape(0, std::int64_t{1} << 40);
  const grpc::Status status = create(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("max-array-bytes"));
  request.mutable_signature()->set_shape(0, 4);
  request.mutable_lease()->set_seconds(-5);
  EXPECT_EQ(create(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.mutable_lease()->set_seconds(5);
  request.set_name(std::string(10'000, 'n'));
  EXPECT_EQ(create(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(server_.arrays().bytes_held(), 0u);
}

TEST_F(ArraysTest, NamesListRenewFree) {
  const v1::Array array = Create(16, "mine");
  v1::CreateArrayRequest again;
  again.mutable_signature()->set_dtype(v1::DTYPE_INT8);
  again.set_name("mine");
  v1::CreateArrayResponse created;
  EXPECT_EQ(arrays_->Create(Call(), again, &created).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  v1::RenewArrayRequest renew;
  renew.set_array_id("mine");
  renew.mutable_lease()->set_seconds(3600);
  v1::RenewArrayResponse renewed;
  const grpc::Status status = arrays_->Renew(Call(), renew, &renewed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(renewed.array().has_lease_expire_time());
  v1::ListArraysResponse list;
  ASSERT_TRUE(arrays_->List(Call(), {}, &list).ok());
  ASSERT_EQ(list.arrays_size(), 1);
  EXPECT_EQ(list.arrays(0).id(), array.id());
  EXPECT_EQ(list.bytes_held(), 16u);
  EXPECT_EQ(list.generation(), "g1");
  v1::FreeArrayRequest request;
  request.set_array_id("mine");
  v1::FreeArrayResponse freed;
  EXPECT_TRUE(arrays_->Free(Call(), request, &freed).ok());
  EXPECT_EQ(arrays_->Free(Call(), request, &freed).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ArraysTest, ClosingTheSessionFreesWhatIsItsOwn) {
  Create(16);
  v1::CloseSessionResponse closed;
  ASSERT_TRUE(daemon_->CloseSession(Call(), {}, &closed).ok());
  v1::ListArraysResponse list;
  ASSERT_TRUE(arrays_->List(Call(), {}, &list).ok());
  EXPECT_EQ(list.arrays_size(), 0);
}

}  // namespace
}  // namespace hotplate::server
