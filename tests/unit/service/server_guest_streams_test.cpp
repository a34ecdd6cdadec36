// Uploads and downloads that are under way when the token of their caller ends.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/unit/service/audit_lines.h"
#include "tests/unit/service/test_server.h"

namespace hotplate::server {
namespace {

using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;

constexpr std::int64_t kBytes = std::int64_t{48} << 20;  // more than is on its way to a client that takes nothing

// The token of the calls has bounds, so that it can end.
class GuestStreamsTest : public ServerTest {
 protected:
  GuestStreamsTest() : GuestStreamsTest(std::make_shared<core::Allowances>()) {}
  explicit GuestStreamsTest(std::shared_ptr<core::Allowances> allowances)
      : ServerTest(With(allowances)), allowances_(std::move(allowances)) {}

  static TestServer::Options With(const std::shared_ptr<core::Allowances>& allowances) {
    allowances->Set("owner", {});
    TestServer::Options options;
    options.engine.allowances = allowances;
    options.audit = true;
    return options;
  }
  void Revoke() { allowances_->Set("owner", {.revoked = true}); }
  void MakeArray() {
    const core::Principal owner{"owner", core::SessionId("made"), core::Scope::kAdmin};
    const auto made =
        server_.arrays().Create(owner, {DType::kUInt8, {kBytes}}, "big", std::chrono::hours(1), /*replace=*/false);
    ASSERT_TRUE(made.ok());
    id_ = made->id.value();
    (*server_.arrays().OpenWriter(owner, "big", 0))->Advance(static_cast<std::size_t>(kBytes));
  }
  static v1::ReadArrayRequest Big() {
    v1::ReadArrayRequest request;
    request.set_array_id("big");
    return request;
  }
  // An array that is written in two halves.
  v1::WriteArrayRequest Half() {
    if (id_.empty()) {
      v1::CreateArrayRequest request;
      request.mutable_signature()->set_dtype(v1::DTYPE_UINT8);
      request.mutable_signature()->add_shape(20);
      request.mutable_lease()->set_seconds(600);
      v1::CreateArrayResponse response;
      EXPECT_TRUE(arrays_->Create(Call(), request, &response).ok());
      id_ = response.array().id();
    }
    v1::WriteArrayRequest half;
    half.set_array_id(id_);
    half.set_data(std::string(10, 'x'));
    return half;
  }
  std::uint64_t Written() { return server_.arrays().Describe(core::Everybody(), id_)->bytes_written; }
  static void ExpectTold(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr("token \"owner\" was revoked or has expired"));
  }

  // One that is ended from outside is noted when its pending read has come back, which is after its client was told.
  void ExpectNoted() {
    const auto uploads = [&] { return LinesWith(AuditLines(server_.AuditText()), "act", "upload"); };
    ASSERT_TRUE(Eventually([&] { return !uploads().empty(); }));
    ASSERT_EQ(uploads().size(), 1u);
    EXPECT_EQ(uploads()[0]["object"], id_);
    EXPECT_EQ(uploads()[0]["result"], "PERMISSION_DENIED");
  }

  const std::shared_ptr<core::Allowances> allowances_;
  std::string id_;
};

TEST_F(GuestStreamsTest, AnUploadEndsWithItsNextChunk) {
  Call call;
  v1::WriteArrayResponse response;
  const v1::WriteArrayRequest half = Half();
  const auto writer = arrays_->Write(call, &response);
  ASSERT_TRUE(writer->Write(half));
  ASSERT_TRUE(Eventually([&] { return Written() == 10; }));
  Revoke();
  writer->Write(half);
  writer->WritesDone();
  ExpectTold(writer->Finish());
  EXPECT_EQ(Written(), 10u);
  ExpectNoted();
}

TEST_F(GuestStreamsTest, AnUploadThatStandsStillIsEnded) {
  Call call;
  v1::WriteArrayResponse response;
  const auto writer = arrays_->Write(call, &response);
  ASSERT_TRUE(writer->Write(Half()));
  ASSERT_TRUE(Eventually([&] { return Written() == 10; }));
  server_.context().guest_streams().EndOver();  // of none yet
  Revoke();
  server_.context().guest_streams().EndOver();
  ExpectTold(writer->Finish());
  ExpectNoted();
}

TEST_F(GuestStreamsTest, ADownloadEndsWithItsNextChunk) {
  MakeArray();
  Call call;
  const auto reader = arrays_->Read(call, Big());
  v1::ReadArrayResponse response;
  ASSERT_TRUE(reader->Read(&response));
  Revoke();
  std::int64_t bytes = 0;
  while (reader->Read(&response)) bytes += static_cast<std::int64_t>(response.data().size());
  EXPECT_LT(bytes, kBytes);
  ExpectTold(reader->Finish());
}

TEST_F(GuestStreamsTest, ADownloadThatNobodyTakesIsEnded) {
  MakeArray();
  {
    Call call;
    const auto reader = arrays_->Read(call, Big());
    v1::ReadArrayResponse response;
    ASSERT_TRUE(reader->Read(&response));
    Revoke();
    server_.context().guest_streams().EndOver();
    // Nothing was taken since, so that it has ended for another reason than its next chunk.
    ASSERT_TRUE(Eventually([&] {
      std::shared_ptr<const HostBuffer> buffer = server_.arrays().Open(core::Everybody(), id_)->buffer;
      return buffer.use_count() == 2;  // the array's and this one
    })) << "the stream holds the array";
    while (reader->Read(&response)) continue;
    EXPECT_THAT(reader->Finish().error_code(),
                AnyOf(Eq(grpc::StatusCode::CANCELLED), Eq(grpc::StatusCode::PERMISSION_DENIED)));
  }
  allowances_->Set("owner", {});
  Call call;
  const auto again = arrays_->Read(call, Big());
  v1::ReadArrayResponse response;
  while (again->Read(&response)) continue;
  EXPECT_TRUE(again->Finish().ok()) << "the array is still there";
}

}  // namespace
}  // namespace hotplate::server
