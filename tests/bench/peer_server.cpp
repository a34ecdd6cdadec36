// bench_peer_server RECORD: a bare gRPC server with TLS (a fresh P-256 key and self-signed certificate at each start)
// on loopback, and plain on the unix socket RECORD.socket. Writes RECORD once it serves; ends on SIGTERM.
#include <grpcpp/grpcpp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "kernels/array/host_buffer.h"
#include "peer.grpc.pb.h"
#include "tests/bench/peer_record.h"

namespace hotplate::bench {
namespace {

template <typename T, void (*free_function)(T*)>
struct Free {
  void operator()(T* pointer) const { free_function(pointer); }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509, X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;

std::string Text(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

grpc::SslServerCredentialsOptions::PemKeyCertPair MakeKeyAndCertificate() {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86'400);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(kPeerName), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_EXTENSION* alternative =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, (std::string("DNS:") + kPeerName).c_str());
  X509_add_ext(certificate.get(), alternative, -1);
  X509_EXTENSION_free(alternative);
  X509_sign(certificate.get(), key.get(), EVP_sha256());

  const Bio key_text(BIO_new(BIO_s_mem()));
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  PEM_write_bio_X509(certificate_text.get(), certificate.get());
  return {Text(key_text), Text(certificate_text)};
}

// What arrived. New memory for each upload: it has to land somewhere that was not there before. It is the same kind of
// memory as the daemon's arrays, huge pages where there are some, so that no ratio compares page faults.
class Landing {
 public:
  explicit Landing(std::size_t bytes) : memory_(HostBuffer::Allocate(bytes)) {}
  bool Append(const void* data, std::size_t size) {
    if (memory_ == nullptr || size > memory_->size() - filled_) return false;
    std::memcpy(memory_->data() + filled_, data, size);
    filled_ += size;
    return true;
  }
  bool full() const { return memory_ != nullptr && filled_ == memory_->size(); }

 private:
  std::shared_ptr<HostBuffer> memory_;
  std::size_t filled_ = 0;
};

std::size_t UploadBytes(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find(kUploadBytesKey);
  return found == context.client_metadata().end()
             ? 0
             : std::stoull(std::string(found->second.data(), found->second.size()));
}

bool Store(const Packet& packet, Landing& landing) {
  return landing.Append(packet.data().data(), packet.data().size());
}
bool Store(grpc::ByteBuffer& packet, Landing& landing) {
  std::vector<grpc::Slice> slices;
  if (!packet.Dump(&slices).ok()) return false;
  for (const grpc::Slice& slice : slices) {
    if (!landing.Append(slice.begin(), slice.size())) return false;
  }
  return true;
}

template <typename Message>
class UploadReactor : public grpc::ServerReadReactor<Message> {
 public:
  explicit UploadReactor(std::size_t bytes) : landing_(bytes) { this->StartRead(&message_); }
  void OnReadDone(bool ok) override {
    if (!ok) {
      this->Finish(landing_.full() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::DATA_LOSS, "bytes are missing"));
      return;
    }
    if (!Store(message_, landing_)) {
      this->Finish({grpc::StatusCode::OUT_OF_RANGE, "more bytes than announced, or no memory for them"});
      return;
    }
    this->StartRead(&message_);
  }
  void OnDone() override { delete this; }

 private:
  Landing landing_;
  Message message_;
};

void Fill(Packet& packet, const char* data, std::size_t size) { packet.set_data(data, size); }
void Fill(grpc::ByteBuffer& packet, const char* data, std::size_t size) {
  grpc::Slice slice(data, size, grpc::Slice::STATIC_SLICE);
  packet = grpc::ByteBuffer(&slice, 1);
}

template <typename Message>
class DownloadReactor : public grpc::ServerWriteReactor<Message> {
 public:
  DownloadReactor(std::span<const std::byte> source, std::size_t bytes) : source_(source), left_(bytes) { Next(); }
  void OnWriteDone(bool ok) override {
    if (!ok) return this->Finish({grpc::StatusCode::UNAVAILABLE, "the reader went away"});
    Next();
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (left_ == 0) return this->Finish(grpc::Status::OK);
    if (source_.empty()) return this->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "no memory to send from"});
    const std::size_t size = std::min({left_, kChunkBytes, source_.size()});
    Fill(message_, reinterpret_cast<const char*>(source_.data()) + offset_, size);
    left_ -= size;
    offset_ = (offset_ + size) % source_.size();
    if (offset_ + kChunkBytes > source_.size()) offset_ = 0;
    this->StartWrite(&message_);
  }

  const std::span<const std::byte> source_;
  std::size_t left_;
  std::size_t offset_ = 0;
  Message message_;
};

class EchoStream : public grpc::ServerBidiReactor<Packet, Packet> {
 public:
  EchoStream() { StartRead(&incoming_); }
  void OnReadDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (!ok) {
      reading_ = false;
      if (answers_.empty()) Finish(grpc::Status::OK);
      return;
    }
    answers_.push_back(std::move(incoming_));
    if (answers_.size() == 1) StartWrite(&answers_.front());
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    answers_.pop_front();
    if (!ok) answers_.clear();
    if (!answers_.empty()) {
      StartWrite(&answers_.front());
    } else if (!reading_) {
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  Packet incoming_;
  std::mutex mutex_;
  std::deque<Packet> answers_;  // the front one is being written
  bool reading_ = true;
};

using Base = Peer::WithCallbackMethod_Echo<
    Peer::WithCallbackMethod_Stream<Peer::WithCallbackMethod_Upload<Peer::WithCallbackMethod_Download<
        Peer::WithRawCallbackMethod_UploadSlices<Peer::WithRawCallbackMethod_DownloadSlices<Peer::Service>>>>>>;

class PeerService final : public Base {
 public:
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Packet* request,
                                 Packet* response) override {
    *response = *request;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<Packet, Packet>* Stream(grpc::CallbackServerContext*) override { return new EchoStream; }
  grpc::ServerReadReactor<Packet>* Upload(grpc::CallbackServerContext* context, Packet*) override {
    return new UploadReactor<Packet>(UploadBytes(*context));
  }
  grpc::ServerReadReactor<grpc::ByteBuffer>* UploadSlices(grpc::CallbackServerContext* context,
                                                          grpc::ByteBuffer* response) override {
    Fill(*response, "", 0);
    return new UploadReactor<grpc::ByteBuffer>(UploadBytes(*context));
  }
  grpc::ServerWriteReactor<Packet>* Download(grpc::CallbackServerContext*, const Amount* amount) override {
    return new DownloadReactor<Packet>(Source(), amount->bytes());
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* DownloadSlices(grpc::CallbackServerContext*,
                                                             const grpc::ByteBuffer* request) override {
    std::vector<grpc::Slice> slices;
    std::string text;
    if (request->Dump(&slices).ok()) {
      for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    Amount amount;
    return new DownloadReactor<grpc::ByteBuffer>(Source(), amount.ParseFromString(text) ? amount.bytes() : 0);
  }

 private:
  // Made at the first download, so that it does not count when the server is idle. Empty if there is no memory.
  std::span<const std::byte> Source() {
    std::call_once(made_, [this] {
      source_ = HostBuffer::Allocate(std::size_t{64} << 20);
      if (source_ != nullptr) std::memset(source_->data(), 'x', source_->size());
    });
    if (source_ == nullptr) return {};
    return source_->bytes();
  }

  std::once_flag made_;
  std::shared_ptr<HostBuffer> source_;
};

int Serve(const std::string& record_path) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before gRPC makes its threads

  PeerRecord record;
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(MakeKeyAndCertificate());
  record.certificate_pem = options.pem_key_cert_pairs[0].cert_chain;

  PeerService service;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(8 << 20);
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &record.tls_port);
  record.plain_socket = record_path + ".socket";
  builder.AddListeningPort("unix:" + record.plain_socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || !WritePeerRecord(record_path, record)) {
    std::fprintf(stderr, "bench_peer_server: cannot serve, or cannot write %s\n", record_path.c_str());
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  std::remove(record_path.c_str());
  return 0;
}

}  // namespace
}  // namespace hotplate::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_peer_server RECORD\n");
    return 2;
  }
  return hotplate::bench::Serve(argv[1]);
}
