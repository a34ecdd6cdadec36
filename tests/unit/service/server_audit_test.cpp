// Calls in the audit log: who did what by which token, what was refused, and nothing of what only looks.
#include <gmock/gmock.h>

#include <set>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "hotplate/v1/programs.grpc.pb.h"
#include "server/net/peer.h"
#include "server/service/acts.h"
#include "tests/unit/service/audit_lines.h"
#include "tests/unit/service/test_server.h"

namespace hotplate::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ServerAuditTest : public ServerTest {
 protected:
  static TestServer::Options WithAudit() {
    TestServer::Options options;
    options.audit = true;
    return options;
  }
  ServerAuditTest() : ServerTest(WithAudit()) {}

  std::vector<AuditLine> Lines() const { return AuditLines(server_.AuditText()); }
  std::vector<AuditLine> Lines(const std::string& act) const { return LinesWith(Lines(), "act", act); }
  // The only line of this act.
  AuditLine Line(const std::string& act) const {
    const std::vector<AuditLine> lines = Lines(act);
    EXPECT_THAT(lines, SizeIs(1)) << act;
    return lines.empty() ? AuditLine() : lines[0];
  }
};

TEST(AddressTest, WithoutItsPort) {
  EXPECT_EQ(AddressIn("ipv4:10.1.2.3:443"), "10.1.2.3");
  EXPECT_EQ(AddressIn("ipv6:%5B::1%5D:443"), "::1");
  EXPECT_EQ(AddressIn("ipv6:[fe80::1]:443"), "fe80::1");
  EXPECT_EQ(AddressIn("unix:/tmp/socket"), "unix");
  EXPECT_EQ(AddressIn("unix:"), "unix");
  EXPECT_EQ(AddressIn(""), "");
}

TEST_F(ServerAuditTest, DetachedJobsAreALineEach) {
  v1::SubmitJobRequest submit;
  *submit.mutable_job() = LongJob();
  v1::SubmitJobResponse submitted;
  ASSERT_TRUE(jobs_->Submit(Call(), submit, &submitted).ok());
  v1::CancelJobRequest cancel;
  cancel.set_job_id(submitted.job_id());
  v1::CancelJobResponse cancelled;
  ASSERT_TRUE(jobs_->Cancel(Call(), cancel, &cancelled).ok());
  submit.mutable_job()->set_kernel("no_such_kernel");
  EXPECT_FALSE(jobs_->Submit(Call(), submit, &submitted).ok());
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(jobs_->List(Call(), {}, &jobs).ok());
  const std::vector<AuditLine> lines = Lines("submit");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].at("token"), "owner");
  EXPECT_EQ(lines[0].at("peer"), "127.0.0.1");
  EXPECT_EQ(lines[0].at("object"), cancel.job_id());
  EXPECT_EQ(lines[0].at("name"), "mandelbrot");
  EXPECT_EQ(lines[0].at("result"), "OK");
  EXPECT_EQ(lines[1].at("name"), "no_such_kernel");
  EXPECT_NE(lines[1].at("result"), "OK");
  EXPECT_THAT(lines[1].at("why"), HasSubstr("no_such_kernel"));
  EXPECT_EQ(Line("cancel").at("object"), cancel.job_id());
  EXPECT_THAT(Lines(), SizeIs(3)) << "who looks is not written down";
}

TEST_F(ServerAuditTest, AttachedJobsAreSummed) {
  constexpr int kJobs = 20;
  Call call;
  const auto stream = jobs_->Run(call);
  v1::RunJobsRequest request;
  for (int i = 0; i < kJobs; ++i) {
    v1::RunJobsRequest::Start& start = *request.add_start();
    start.set_tag(static_cast<std::uint64_t>(i));
    *start.mutable_job() = TinyJob();
    if (i < 2) start.mutable_job()->clear_inputs();
  }
  ASSERT_TRUE(stream->Write(request) && stream->WritesDone());
  for (v1::RunJobsResponse response; stream->Read(&response);) {
  }
  ASSERT_TRUE(stream->Finish().ok());
  v1::ExecuteJobRequest execute;
  *execute.mutable_job() = TinyJob();
  v1::ExecuteJobResponse executed;
  ASSERT_TRUE(jobs_->Execute(Call(), execute, &executed).ok());
  const std::vector<AuditLine> lines = Lines("run");
  ASSERT_THAT(lines, SizeIs(2));
  for (const AuditLine& line : lines) {
    EXPECT_EQ(line.at("token"), "owner");
    EXPECT_EQ(line.at("peer"), "127.0.0.1");
    EXPECT_EQ(line.at("name"), "vector_add");
    EXPECT_EQ(line.at("count"), std::to_string(line.at("result") == "OK" ? kJobs - 2 + 1 : 2));
  }
  EXPECT_NE(lines[0].at("result"), lines[1].at("result"));
}

TEST_F(ServerAuditTest, AnArrayFromItsBeginningToItsEnd) {
  v1::CreateArrayRequest create;
  create.mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  create.set_name("x");
  v1::CreateArrayResponse created;
  ASSERT_TRUE(arrays_->Create(Call(), create, &created).ok());
  const std::string id = created.array().id();
  Call write_call, read_call;
  v1::WriteArrayResponse written;
  const auto writer = arrays_->Write(write_call, &written);
  v1::WriteArrayRequest chunk;
  chunk.set_array_id(id);
  chunk.set_data("1234");
  ASSERT_TRUE(writer->Write(chunk) && writer->WritesDone());
  ASSERT_TRUE(writer->Finish().ok());
  v1::ReadArrayRequest read;
  read.set_array_id(id);
  const auto reader = arrays_->Read(read_call, read);
  for (v1::ReadArrayResponse response; reader->Read(&response);) {
  }
  ASSERT_TRUE(reader->Finish().ok());
  v1::FreeArrayRequest free;
  free.set_array_id(id);
  v1::FreeArrayResponse freed;
  ASSERT_TRUE(arrays_->Free(Call(), free, &freed).ok());
  for (const char* act : {"put", "upload", "download", "free"}) {
    EXPECT_EQ(Line(act).at("object"), id) << act;
    EXPECT_EQ(Line(act).at("result"), "OK") << act;
  }
  EXPECT_EQ(Line("put").at("name"), "x");
}

TEST_F(ServerAuditTest, RefusalsAreSummedByMethod) {
  const std::string wrong(64, 'c');
  v1::GetServerInfoResponse info;
  v1::DrainResponse drained;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(daemon_->GetInfo(Call(wrong), {}, &info).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(daemon_->Drain(Call(TestServer::kWatcherToken), {}, &drained).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  Call run(wrong), watch(TestServer::kWatcherToken);
  EXPECT_FALSE(jobs_->Run(run)->Finish().ok());
  EXPECT_FALSE(jobs_->Run(watch)->Finish().ok());
  grpc::health::v1::HealthCheckResponse health;
  EXPECT_FALSE(grpc::health::v1::Health::NewStub(channel_)->Check(Call(""), {}, &health).ok());
  const std::vector<AuditLine> lines = Lines("refused");
  EXPECT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines.size(), Lines().size());
  const auto line = [&](const std::string& token, const std::string& method) {
    const std::vector<AuditLine> found = LinesWith(LinesWith(lines, "token", token), "object", method);
    EXPECT_THAT(found, SizeIs(1)) << token << " " << method;
    return found.empty() ? AuditLine() : found[0];
  };
  EXPECT_EQ(line("", "Server.GetInfo")["count"], "3");
  EXPECT_EQ(line("", "Server.GetInfo")["result"], "UNAUTHENTICATED");
  EXPECT_EQ(line("", "Server.GetInfo")["certificate"], "owner");
  EXPECT_EQ(line("watcher", "Server.Drain")["count"], "3");
  EXPECT_EQ(line("watcher", "Server.Drain")["result"], "PERMISSION_DENIED");
  EXPECT_THAT(line("watcher", "Server.Drain")["why"], HasSubstr("scope observe"));
  line("", "Jobs.Run");
  line("watcher", "Jobs.Run");
  line("", "Health.Check");
}

TEST_F(ServerAuditTest, NoSecretGetsIn) {
  v1::CancelJobRequest cancel;
  cancel.set_job_id(TestServer::kToken);
  v1::CancelJobResponse cancelled;
  EXPECT_FALSE(jobs_->Cancel(Call(), cancel, &cancelled).ok());
  v1::DrainResponse drained;
  EXPECT_TRUE(daemon_->Drain(Call(), {}, &drained).ok());
  EXPECT_EQ(Line("drain").at("token"), "owner");
  EXPECT_NE(Line("cancel").at("result"), "OK");
  const std::string text = server_.AuditText();
  EXPECT_THAT(text, Not(HasSubstr(TestServer::kToken.substr(0, 16))));
  EXPECT_THAT(text, Not(HasSubstr(TestServer::kSession.substr(0, 16))));
}

TEST_F(ServerAuditTest, WhoOnlyLooksIsNotWrittenDown) {
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(daemon_->GetInfo(Call(TestServer::kWatcherToken), {}, &info).ok());
  v1::ListArraysResponse arrays;
  ASSERT_TRUE(arrays_->List(Call(), {}, &arrays).ok());
  EXPECT_THAT(Lines(), IsEmpty());
}

// A program of the caller's choice is asked for its version.
TEST_F(ServerAuditTest, WhoOpensAnEnvironmentIsWrittenDown) {
  v1::OpenEnvironmentRequest request;
  request.mutable_python()->add_arguments("/home/ana/python");
  v1::OpenEnvironmentResponse response;
  EXPECT_FALSE(v1::Programs::NewStub(channel_)->OpenEnvironment(Call(), request, &response).ok()) << "runs no programs";
  EXPECT_EQ(Line("environment.open").at("name"), "/home/ana/python");
  EXPECT_NE(Line("environment.open").at("result"), "OK");
}

TEST_F(ServerAuditTest, WhoReadsAProgramsOutputIsSummed) {
  v1::ProgramOutputRequest request;
  request.set_job_id("4711");
  v1::ProgramOutputResponse response;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(v1::Programs::NewStub(channel_)->Output(Call(), request, &response).ok());
  EXPECT_EQ(Line("fetch").at("object"), "4711");
  EXPECT_EQ(Line("fetch").at("count"), "3");
}

// A new method belongs in the table (acts.cpp), or into one of these lists.
TEST_F(ServerAuditTest, EveryMethodIsAnActOrOnlyLooks) {
  const std::set<std::string> note_themselves = {"Arrays.Read", "Arrays.Write", "Jobs.Execute", "Jobs.Run",
                                                 "Programs.Run"};
  const std::set<std::string> only_look = {"Arrays.Describe",
                                           "Arrays.List",
                                           "Catalogue.DescribeKernel",
                                           "Catalogue.ListKernels",
                                           "Jobs.Check",
                                           "Jobs.Get",
                                           "Jobs.List",
                                           "Jobs.Watch",
                                           "Jobs.Why",
                                           "Programs.ListEnvironments",
                                           "Programs.ListWorkers",
                                           "Server.CloseSession",  // as a client that just goes away
                                           "Server.GetInfo",
                                           "Server.ListCaches",
                                           "Telemetry.Snapshot",
                                           "Telemetry.Watch",
                                           "Tokens.List"};
  Call call;
  const auto stream = grpc::reflection::v1alpha::ServerReflection::NewStub(channel_)->ServerReflectionInfo(call);
  grpc::reflection::v1alpha::ServerReflectionRequest list;
  list.set_list_services("*");
  grpc::reflection::v1alpha::ServerReflectionResponse served;
  ASSERT_TRUE(stream->Write(list) && stream->WritesDone() && stream->Read(&served));
  ASSERT_TRUE(stream->Finish().ok());
  std::set<std::string> methods;
  for (const auto& service : served.list_services_response().service()) {
    if (!service.name().starts_with("hotplate.v1.")) continue;
    const auto* const described = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service.name());
    ASSERT_NE(described, nullptr) << service.name();
    for (int i = 0; i < described->method_count(); ++i) {
      const std::string name = ShortName(*described->method(i));
      methods.insert(name);
      const int places = (ActOf(*described->method(i)).empty() ? 0 : 1) +
                         static_cast<int>(note_themselves.count(name)) + static_cast<int>(only_look.count(name));
      EXPECT_EQ(places, 1) << name;
    }
  }
  EXPECT_EQ(methods.count("Programs.OpenEnvironment"), 1u);
  for (const std::set<std::string>* const names : {&note_themselves, &only_look}) {
    for (const std::string& name : *names) EXPECT_EQ(methods.count(name), 1u) << name << " is no method";
  }
}

}  // namespace
}  // namespace hotplate::server
