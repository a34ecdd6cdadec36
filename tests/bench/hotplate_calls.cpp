#include "tests/bench/hotplate_calls.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <semaphore>
#include <thread>
#include <variant>

#include "tests/bench/paired.h"

namespace hotplate::bench {
namespace {

// How much later than the one before a cancel is asked for.
constexpr auto kLater = std::chrono::milliseconds(20);

[[noreturn]] void End(const char* what, const absl::Status& status) {
  std::fprintf(stderr, "benchmark: %s: %s\n", what, status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Must(absl::StatusOr<T> result, const char* what) {
  if (!result.ok()) End(what, result.status());
  return *std::move(result);
}

// Written once, so that no page is new when it is measured.
std::shared_ptr<HostBuffer> Ones(std::size_t bytes) {
  const std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(bytes);
  if (buffer == nullptr) End("memory for transfers", absl::ResourceExhaustedError(std::to_string(bytes) + " bytes"));
  std::fill_n(reinterpret_cast<float*>(buffer->data()), bytes / sizeof(float), 1.0F);
  return buffer;
}

}  // namespace

client::Client Connect(const std::string& server) {
  client::ConnectOptions options;
  options.server = server;
  return Must(client::Client::Connect(options), server.c_str());
}

SmallestJob::SmallestJob(client::Client& client) : client_(client) {
  const v1::KernelSpec spec = Must(client.Describe("vector_add"), "describe vector_add");
  for (const v1::ArgumentSpec& input : spec.inputs()) inputs_.emplace(input.name(), client::View(elements_, {4}));
  output_ = spec.outputs(0).name();
}

double SmallestJob::PipelinedPerSecond(int jobs, int window) {
  std::counting_semaphore<> room(window);
  const double seconds = SecondsOf([&] {
    for (int i = 0; i < jobs; ++i) {
      room.acquire();
      client_.RunAsync("vector_add", inputs_, {}, [&](const absl::StatusOr<client::JobResult>& result) {
        Check(result);
        room.release();
      });
    }
    for (int i = 0; i < window; ++i) room.acquire();
  });
  return jobs / seconds;
}

void SmallestJob::Check(const absl::StatusOr<client::JobResult>& result) const {
  if (result.ok() && result->Output<float>(output_).size() == 4 && result->Output<float>(output_)[3] == 8.0F) return;
  End("a job went wrong", result.status());
}

LongJob::LongJob(client::Client& client, const std::string& kernel, const client::JobOptions& options,
                 const std::map<std::string, client::ArrayView>& inputs)
    : client_(client),
      kernel_(kernel),
      options_(options),
      promised_(Must(client.Describe(kernel), kernel.c_str()).cancel_bound_ms()) {
  for (const auto& [name, array] : inputs) inputs_[name] = client::ArrayRef{Must(client.Put(array), "put").id()};
}

LongJob::~LongJob() {
  for (const auto& [name, array] : inputs_) (void)client_.Free(std::get<client::ArrayRef>(array).id_or_name);
}

double LongJob::SlowestCancel(int cancels) {
  double slowest = 0;
  for (int i = 0; i < cancels; ++i) slowest = std::max(slowest, Cancel(i * kLater));
  return slowest;
}

double LongJob::Cancel(std::chrono::milliseconds after_progress) {
  using std::chrono::steady_clock;
  client::Cancellation cancellation;
  std::optional<steady_clock::time_point> asked;
  client::JobOptions options = options_;
  options.on_update = [&](const v1::JobUpdate& update) {
    if (asked || update.progress().fraction() <= 0) return;
    std::this_thread::sleep_for(after_progress);
    asked = steady_clock::now();
    cancellation.Cancel();
  };
  const absl::Status ended = client_.Run(kernel_, inputs_, options, &cancellation).status();
  const steady_clock::time_point now = steady_clock::now();
  const auto end = client::EndOf(ended);
  if (!asked || !end || end->state() != v1::CANCELLED) End("a job that was to be cancelled", ended);
  return std::chrono::duration<double, std::milli>(now - *asked).count();
}

Bulk::Bulk(client::Client& client, std::size_t bytes)
    : client_(client), up_(Ones(bytes)), down_(Ones(bytes)), kept_(Put()) {}

Bulk::~Bulk() { (void)client_.Free(kept_); }

std::string Bulk::Put() {
  const auto elements = static_cast<std::int64_t>(up_->size() / sizeof(float));
  return Must(client_.Put({{DType::kFloat32, {elements}}, up_->bytes()}), "put").id();
}

double Bulk::Upload() {
  std::string id;
  const double rate = Rate([&] { id = Put(); });
  (void)client_.Free(id);
  return rate;
}

double Bulk::Download() {
  return Rate([&] {
    const absl::Status got = client_.GetInto(kept_, down_->bytes());
    if (!got.ok()) End("get", got);
  });
}

double Bulk::DownloadIntoNew() {
  return Rate([&] { (void)Must(client_.Get(kept_), "get"); });
}

double Bulk::Rate(const std::function<void()>& transfer) const {
  return static_cast<double>(up_->size()) / SecondsOf(transfer) / 1e9;
}

}  // namespace hotplate::bench
