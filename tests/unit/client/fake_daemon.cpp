#include "tests/unit/client/fake_daemon.h"

#include <google/protobuf/util/json_util.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

namespace hotplate::client::testing {
namespace {

std::string TakePem(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(length));
  BIO_free(bio);
  return text;
}

grpc::Status Broken() { return {grpc::StatusCode::UNAVAILABLE, "the fake daemon broke this on purpose"}; }

}  // namespace

std::vector<float> Ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

Certificate MakeCertificate() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("hotplate"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:hotplate");
  X509_add_ext(certificate, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(certificate, key, EVP_sha256());
  Certificate made;
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  made.certificate_pem = TakePem(bio);
  bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  made.key_pem = TakePem(bio);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

const Certificate& ClientCertificate() {
  static const Certificate made = MakeCertificate();
  return made;
}

void SetCertificates(v1::EndpointRecord& record, const Certificate& daemon, const Certificate& client) {
  record.set_certificate_pem(daemon.certificate_pem);
  record.set_client_certificate_pem(client.certificate_pem);
  record.set_client_key_pem(client.key_pem);
}

v1::EndpointRecord SomeRecord() {
  v1::EndpointRecord record;
  record.set_schema_version(1);
  record.set_name("fake");
  record.set_token(std::string(64, 'a'));
  v1::Endpoint& endpoint = *record.add_endpoints();
  endpoint.set_node("nowhere");
  endpoint.set_address("127.0.0.1");
  endpoint.set_port(1);
  record.set_pid(1);
  return record;
}

std::string WriteRecord(const std::string& directory, const v1::EndpointRecord& record) {
  const std::string folder = directory + "/servers";
  mkdir(folder.c_str(), 0700);
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(record, &json, options).ok()) std::abort();
  const std::string path = folder + "/" + record.name() + ".json";
  std::ofstream(path) << json;
  chmod(path.c_str(), 0600);
  const std::string current = directory + "/current";
  unlink(current.c_str());
  if (symlink(("servers/" + record.name() + ".json").c_str(), current.c_str()) != 0) std::abort();
  return path;
}

bool Eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

struct FakeDaemon::JobsService : v1::Jobs::WithRawCallbackMethod_Get<v1::Jobs::Service> {
  explicit JobsService(FakeDaemon& the_daemon) : daemon(the_daemon) {}

  // Its answer is no message of the protocol's.
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                grpc::ByteBuffer* response) override {
    const grpc::Slice slice(std::string("\xff\xff\xff"));
    *response = grpc::ByteBuffer(&slice, 1);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::Status Check(grpc::ServerContext* context, const v1::CheckJobRequest* request,
                     v1::CheckJobResponse* response) override {
    ++daemon.checks;
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    if (auto status = daemon.UnaryFault(); !status.ok()) return status;
    if (request->job().kernel() == "refuse") return {grpc::StatusCode::INVALID_ARGUMENT, "refused by the check"};
    response->set_generation("g");
    return grpc::Status::OK;
  }

  grpc::Status Execute(grpc::ServerContext* context, const v1::ExecuteJobRequest* request,
                       v1::ExecuteJobResponse* response) override {
    ++daemon.executes;
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    if (auto status = daemon.UnaryFault(); !status.ok()) return status;
    if (request->job().kernel() == "hold") {
      while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return grpc::Status::CANCELLED;
    }
    response->set_job_id("1");
    *response->mutable_end() = daemon.Compute(request->job());
    return grpc::Status::OK;
  }

  grpc::Status Submit(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                      v1::SubmitJobResponse* response) override {
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    if (auto status = daemon.UnaryFault(); !status.ok()) return status;
    daemon.Compute(request->job());
    response->set_job_id("7");
    return grpc::Status::OK;
  }

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                     grpc::ServerWriter<v1::WatchJobResponse>* writer) override {
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    if (request->from_sequence() > 1 && daemon.quiet_breaks > 0 && daemon.quiet_breaks-- > 0) return Broken();
    for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
      if (sequence < request->from_sequence()) continue;
      v1::WatchJobResponse response;
      v1::JobUpdate& update = *response.add_updates();
      update.set_job_id(request->job_id());
      update.set_sequence(sequence);
      if (sequence < 5) {
        update.mutable_state_change()->set_state(v1::RUNNING);
      } else {
        update.mutable_end()->set_state(v1::COMPLETED);
      }
      writer->Write(response);
      const bool again = daemon.watched_ >= sequence;
      daemon.watched_ = sequence;
      if (daemon.broken_watch && !again && sequence < 5) return Broken();
      if (sequence == 1 && daemon.quiet_breaks > 0 && daemon.quiet_breaks-- > 0) return Broken();
    }
    return grpc::Status::OK;
  }

  grpc::Status FetchResult(grpc::ServerContext* context, const v1::FetchResultRequest*,
                           v1::FetchResultResponse* response) override {
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    response->set_state(v1::COMPLETED);
    v1::JobResult::Output& output = *response->mutable_result()->add_outputs();
    output.set_name("y");
    output.mutable_signature()->set_dtype(v1::DTYPE_UINT8);
    output.mutable_signature()->add_shape(3);
    output.set_array_id(daemon.Store(output.signature(), "abc"));
    return grpc::Status::OK;
  }

  grpc::Status Run(grpc::ServerContext* context,
                   grpc::ServerReaderWriter<v1::RunJobsResponse, v1::RunJobsRequest>* stream) override {
    ++daemon.streams;
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    std::map<std::uint64_t, std::string> held;
    v1::RunJobsRequest request;
    while (stream->Read(&request)) {
      v1::RunJobsResponse response;
      for (const auto& start : request.start()) {
        ++daemon.jobs_started;
        if (!Begin(start, held, response)) {
          if (start.job().kernel() == "cut") stream->Write(response);
          return Broken();
        }
      }
      for (const std::uint64_t tag : request.cancel()) {
        const auto found = held.find(tag);
        if (found == held.end() || found->second == "stubborn") continue;
        v1::JobUpdate& update = Update(tag, response);
        update.mutable_end()->set_state(v1::CANCELLED);
        held.erase(found);
      }
      if (response.updates_size() > 0 && !stream->Write(response)) break;
    }
    return grpc::Status::OK;
  }

  static v1::JobUpdate& Update(std::uint64_t tag, v1::RunJobsResponse& response) {
    v1::JobUpdate& update = *response.add_updates();
    update.set_tag(tag);
    update.set_job_id("j" + std::to_string(tag));
    return update;
  }

  bool Begin(const v1::RunJobsRequest::Start& start, std::map<std::uint64_t, std::string>& held,
             v1::RunJobsResponse& response) {
    const v1::JobSpec& job = start.job();
    if (job.kernel() == "dropall") return false;
    if (job.kernel() == "drop") {
      const std::lock_guard lock(daemon.mutex_);
      if (daemon.dropped_.insert(job.request_id()).second) return false;
    }
    v1::JobUpdate& state = Update(start.tag(), response);
    if (job.kernel() == "refuse") {
      state.clear_job_id();
      state.mutable_refused()->set_code(3);
      state.mutable_refused()->set_message("no kernel \"refuse\"");
      v1::FieldViolation& violation = *state.mutable_refused()->add_violations();
      violation.set_field("kernel");
      violation.set_description("no kernel \"refuse\"");
      return true;
    }
    state.set_sequence(1);
    state.mutable_state_change()->set_state(v1::RUNNING);
    if (job.kernel() == "cut" && daemon.quiet_breaks-- > 0) return false;
    if (job.kernel() == "quiet") response.mutable_updates()->RemoveLast();
    if (job.kernel() == "hold" || job.kernel() == "stubborn" || job.kernel() == "quiet") {
      held[start.tag()] = job.kernel();
      const std::lock_guard lock(daemon.mutex_);
      daemon.running_.insert(job.request_id());
      return true;
    }
    v1::JobUpdate& end = Update(start.tag(), response);
    end.set_sequence(2);
    *end.mutable_end() = daemon.Compute(job);
    return true;
  }

  FakeDaemon& daemon;
};

struct FakeDaemon::ArraysService : v1::Arrays::Service {
  explicit ArraysService(FakeDaemon& the_daemon) : daemon(the_daemon) {}

  grpc::Status Create(grpc::ServerContext* context, const v1::CreateArrayRequest* request,
                      v1::CreateArrayResponse* response) override {
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    const std::string id = daemon.Store(request->signature(), "");
    const std::lock_guard lock(daemon.mutex_);
    StoredArray& stored = daemon.arrays_[id];
    stored.array.set_name(request->name());
    *response->mutable_array() = stored.array;
    return grpc::Status::OK;
  }

  grpc::Status Write(grpc::ServerContext* context, grpc::ServerReader<v1::WriteArrayRequest>* reader,
                     v1::WriteArrayResponse* response) override {
    ++daemon.writes;
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    while (daemon.stall_uploads && !context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool breaks = daemon.broken_transfers > 0;
    if (breaks) --daemon.broken_transfers;
    std::string id;
    std::uint64_t received = 0;
    v1::WriteArrayRequest request;
    while (reader->Read(&request)) {
      const std::lock_guard lock(daemon.mutex_);
      if (id.empty()) {
        id = request.array_id();
        if (daemon.arrays_.count(id) == 0) return {grpc::StatusCode::NOT_FOUND, "no array " + id};
        if (request.offset() > 0 && daemon.unnoticed_breaks > 0 && daemon.unnoticed_breaks-- > 0) {
          return {grpc::StatusCode::FAILED_PRECONDITION, "array " + id + " is being written by another stream"};
        }
        if (request.offset() != daemon.arrays_[id].data.size()) {
          return {grpc::StatusCode::FAILED_PRECONDITION, "the offset is not where the array stands"};
        }
      }
      if (daemon.arrays_.count(id) == 0) return {grpc::StatusCode::NOT_FOUND, "array " + id + " was freed"};
      StoredArray& stored = daemon.arrays_[id];
      stored.data += request.data();
      received += request.data().size();
      daemon.bytes_written += request.data().size();
      stored.array.set_bytes_written(stored.data.size());
      if (breaks && received >= daemon.break_after) return Broken();
    }
    const std::lock_guard lock(daemon.mutex_);
    if (daemon.arrays_.count(id) == 0) return {grpc::StatusCode::NOT_FOUND, "array " + id + " was freed"};
    StoredArray& stored = daemon.arrays_[id];
    if (stored.data.size() == stored.array.bytes()) stored.array.set_state(v1::ARRAY_STATE_READY);
    *response->mutable_array() = stored.array;
    return grpc::Status::OK;
  }

  grpc::Status Read(grpc::ServerContext* context, const v1::ReadArrayRequest* request,
                    grpc::ServerWriter<v1::ReadArrayResponse>* writer) override {
    ++daemon.reads;
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    if (daemon.leaves) return {grpc::StatusCode::CANCELLED, "CANCELLED"};
    const bool breaks = daemon.broken_transfers > 0;
    if (breaks) --daemon.broken_transfers;
    std::string data;
    {
      const std::lock_guard lock(daemon.mutex_);
      const auto found = daemon.arrays_.find(request->array_id());
      if (found == daemon.arrays_.end()) return {grpc::StatusCode::NOT_FOUND, "no array " + request->array_id()};
      data = found->second.data;
    }
    std::uint64_t sent = 0;
    constexpr std::uint64_t kPiece = 1'000'003;  // no power of two: ends anywhere
    if (request->length() > 0) data.resize(std::min<std::uint64_t>(data.size(), request->offset() + request->length()));
    for (std::uint64_t at = request->offset(); at < data.size(); at += kPiece) {
      v1::ReadArrayResponse response;
      response.set_offset(at);
      response.set_data(data.substr(at, kPiece));
      sent += response.data().size();
      writer->Write(response);
      if (breaks && sent >= daemon.break_after) return Broken();
      while (daemon.stall_downloads && !context->IsCancelled())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return grpc::Status::OK;
  }

  grpc::Status Describe(grpc::ServerContext* context, const v1::DescribeArrayRequest* request,
                        v1::DescribeArrayResponse* response) override {
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    const std::lock_guard lock(daemon.mutex_);
    for (const auto& [id, stored] : daemon.arrays_) {
      if (id == request->array_id() || stored.array.name() == request->array_id()) {
        *response->mutable_array() = stored.array;
        return grpc::Status::OK;
      }
    }
    return {grpc::StatusCode::NOT_FOUND, "no array \"" + request->array_id() + "\""};
  }

  grpc::Status Free(grpc::ServerContext* context, const v1::FreeArrayRequest* request,
                    v1::FreeArrayResponse*) override {
    ++daemon.frees;
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    const std::lock_guard lock(daemon.mutex_);
    return daemon.arrays_.erase(request->array_id()) == 1 ? grpc::Status::OK
                                                          : grpc::Status(grpc::StatusCode::NOT_FOUND, "no such array");
  }

  FakeDaemon& daemon;
};

struct FakeDaemon::ServerService : v1::Server::Service {
  explicit ServerService(FakeDaemon& the_daemon) : daemon(the_daemon) {}

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest*,
                       v1::GetServerInfoResponse* response) override {
    ++daemon.infos;
    if (auto status = daemon.Authorize(*context); !status.ok()) return status;
    if (auto status = daemon.UnaryFault(); !status.ok()) return status;
    if (daemon.leaves) return {grpc::StatusCode::CANCELLED, "CANCELLED"};
    response->set_name("fake");
    return grpc::Status::OK;
  }

  FakeDaemon& daemon;
};

FakeDaemon::FakeDaemon(Options options)
    : options_(std::move(options)),
      record_(SomeRecord()),
      jobs_(std::make_unique<JobsService>(*this)),
      arrays_service_(std::make_unique<ArraysService>(*this)),
      server_service_(std::make_unique<ServerService>(*this)) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (options_.tls) {
    const Certificate certificate = options_.certificate ? *options_.certificate : MakeCertificate();
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = ClientCertificate().certificate_pem;
    tls.pem_key_cert_pairs.push_back({certificate.key_pem, certificate.certificate_pem});
    credentials = grpc::SslServerCredentials(tls);
    SetCertificates(record_, certificate);
  }
  v1::Endpoint& endpoint = *record_.mutable_endpoints(0);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(8 << 20);
  if (options_.unix_socket) {
    endpoint.set_address("unix:" + directory() + "/socket");
    endpoint.clear_port();
    builder.AddListeningPort(endpoint.address(), credentials);
  } else {
    builder.AddListeningPort("127.0.0.1:" + std::to_string(options_.port), credentials, &port_);
  }
  builder.RegisterService(jobs_.get());
  builder.RegisterService(arrays_service_.get());
  builder.RegisterService(server_service_.get());
  server_ = builder.BuildAndStart();
  if (!server_) std::abort();
  if (!options_.unix_socket) endpoint.set_port(static_cast<std::uint32_t>(port_));
  WriteRecord(directory(), record_);
}

FakeDaemon::~FakeDaemon() { Stop(); }

void FakeDaemon::Stop() {
  if (!server_) return;
  stall_uploads = false;
  stall_downloads = false;
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

grpc::Status FakeDaemon::Authorize(const grpc::ServerContext& context) const {
  const auto& metadata = context.client_metadata();
  const auto token = metadata.find("authorization");
  const auto session = metadata.find("hotplate-session");
  if (token == metadata.end() || token->second != "Bearer " + record_.token()) {
    return {grpc::StatusCode::UNAUTHENTICATED, "the token is not this daemon's"};
  }
  if (session == metadata.end() || session->second.size() != 32) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "no session"};
  }
  return grpc::Status::OK;
}

grpc::Status FakeDaemon::UnaryFault() {
  if (unavailable <= 0) return grpc::Status::OK;
  --unavailable;
  return Broken();
}

std::string FakeDaemon::Store(const v1::Signature& signature, std::string data) {
  const std::lock_guard lock(mutex_);
  const std::string id = "a" + std::to_string(next_id_++);
  StoredArray& stored = arrays_[id];
  stored.array.set_id(id);
  *stored.array.mutable_signature() = signature;
  std::uint64_t bytes = signature.dtype() == v1::DTYPE_UINT8 ? 1 : 4;
  for (const std::int64_t size : signature.shape()) bytes *= static_cast<std::uint64_t>(size);
  stored.array.set_bytes(bytes);
  stored.array.set_bytes_written(data.size());
  stored.array.set_state(data.size() == bytes ? v1::ARRAY_STATE_READY : v1::ARRAY_STATE_WRITING);
  stored.data = std::move(data);
  return id;
}

v1::JobEnd FakeDaemon::Compute(const v1::JobSpec& job) {
  v1::JobEnd end;
  end.mutable_result()->mutable_receipt()->set_kernel(job.kernel());
  {
    const std::lock_guard lock(mutex_);
    request_ids_.insert(job.request_id());
    last_job_ = job;
  }
  if (job.kernel() == "fail") {
    end.set_state(v1::FAILED);
    end.mutable_error()->set_code(13);
    end.mutable_error()->set_message("the kernel failed on purpose");
    return end;
  }
  end.set_state(v1::COMPLETED);
  for (const v1::JobInput& input : job.inputs()) {
    v1::JobResult::Output& output = *end.mutable_result()->add_outputs();
    output.set_name(input.name());
    std::string data;
    if (input.has_inline_()) {
      *output.mutable_signature() = input.inline_().signature();
      data = input.inline_().data();
    } else {
      const std::lock_guard lock(mutex_);
      if (arrays_.count(input.array_id()) == 0) {
        end.mutable_result()->mutable_outputs()->RemoveLast();
        continue;
      }
      const StoredArray& stored = arrays_[input.array_id()];
      *output.mutable_signature() = stored.array.signature();
      data = stored.data;
    }
    bool keep = false;
    for (const v1::JobOutput& wanted : job.outputs()) keep = keep || (wanted.name() == input.name() && wanted.keep());
    if (keep || data.size() > kFakeInlineBytes) {
      output.set_array_id(Store(output.signature(), std::move(data)));
    } else {
      output.set_inline_(std::move(data));
    }
  }
  return end;
}

std::set<std::string> FakeDaemon::request_ids() const {
  const std::lock_guard lock(mutex_);
  return request_ids_;
}

std::vector<std::string> FakeDaemon::running() const {
  const std::lock_guard lock(mutex_);
  return {running_.begin(), running_.end()};
}

std::size_t FakeDaemon::array_count() const {
  const std::lock_guard lock(mutex_);
  return arrays_.size();
}

v1::JobSpec FakeDaemon::last_job() const {
  const std::lock_guard lock(mutex_);
  return last_job_;
}

}  // namespace hotplate::client::testing
