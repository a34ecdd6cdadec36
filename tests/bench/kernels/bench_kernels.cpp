// Times kernels through lanes of a device, as the daemon runs them, on request, so that a script can alternate it with
// peers (pairs.py):
//   usage: bench_kernels [--device cpu|cuda|gpuN] [--copy-threads N] [--long] [--list]
// cuda: gpu0, and no context on another GPU, whoever that belongs to.
// --copy-threads: that help a GPU's lane to copy, in place of the daemon's number (host_share.h).
// --long: also the rows that take a processor many seconds. --list: prints the rows and ends; needs no such device.
// Exit status 3: there is no such device here, and standard error says why. Otherwise each line of standard input is
// answered by one line, a JSON value; {"error": …} if the row cannot be run here.
//   list                          the device; the rows, their parameters, whether memory or writing it binds
//   kernel ROW N                  N kernel times in nanoseconds (CPU: the host's clock, GPU: its own events)
//   phases ROW N                  N times the whole run: kernel, both copies, and Lane::Run by the host's clock
//   lanes ROW LANES N             N runs on each of LANES lanes at once, and the same work on one lane
//   inputs ROW FOLDER             writes the row's inputs as .npy, so that a peer works on the same data
//   outputs ROW FOLDER            runs it once and writes its outputs
//   bare LOOP BYTES N             CPU: N times of a bare loop over floats of BYTES together, the peer of what memory
//                                 binds: triad (c = a + 3 b), fill (c = 3), or broadcast (c[i][j] = a[i] + b[j])
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <latch>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/array/host_buffer.h"
#include "kernels/devices/cpu/machine.h"
#include "kernels/devices/cuda/executor/host_share.h"
#include "tests/bench/kernels/ready.h"

namespace hotplate::bench {
namespace {

using std::chrono::steady_clock;

constexpr int kExitNoDevice = 3;
constexpr int kMostLanes = 16;
constexpr std::uint64_t kLeastBareBytes = 12;
constexpr std::uint64_t kMostBareBytes = std::uint64_t{4} << 30;

// JSON of a text from outside.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

std::string List(const std::vector<std::uint64_t>& numbers) {
  std::string text = "[";
  for (const std::uint64_t number : numbers) text += (text.size() == 1 ? "" : ", ") + std::to_string(number);
  return text + "]";
}

std::string Error(const absl::Status& status) { return "{\"error\": " + Quoted(std::string(status.message())) + "}"; }

std::string ListOf(const std::vector<Row>& rows) {
  std::string text = "[";
  for (const Row& row : rows) {
    text += text.size() == 1 ? "" : ", ";
    text += "{\"name\": " + Quoted(row.name) + ", \"kernel\": " + Quoted(row.kernel) +
            ", \"bound_by_memory\": " + (row.bound_by_memory ? "true" : "false") +
            ", \"bare_loop\": " + Quoted(row.bare_loop) + ", \"params\": {";
    for (const auto& [param, value] : row.params)
      text += (text.back() == '{' ? "" : ", ") + Quoted(param) + ": " + Quoted(ToString(value));
    text += "}}";
  }
  return text + "]";
}

// The bare peers for whatever is bound by memory.
class Bare {
 public:
  // `bytes`: of all arrays of the loop together.
  Bare(const std::string& loop, std::uint64_t bytes)
      : loop_(loop), bytes_(bytes), count_(bytes / sizeof(float) / (loop == "triad" ? 3 : 1)) {
    for (int i = 0; i < (loop == "triad" ? 3 : 1); ++i) {
      buffers_.push_back(HostBuffer::Allocate(count_ * sizeof(float)));
      std::fill_n(Array(i), count_, 1.0f);
    }
  }

  bool Is(const std::string& loop, std::uint64_t bytes) const { return loop == loop_ && bytes == bytes_; }

  std::uint64_t Run() {
    const auto start = steady_clock::now();
    if (loop_ == "triad") {
      const float *a = Array(0), *b = Array(1);
      float* c = Array(2);
#pragma omp parallel for simd
      for (std::size_t i = 0; i < count_; ++i) c[i] = a[i] + 3.0f * b[i];
    } else if (loop_ == "fill") {
      float* c = Array(0);
#pragma omp parallel for simd
      for (std::size_t i = 0; i < count_; ++i) c[i] = 3.0f;
    } else {
      const float *a = column_.data(), *b = row_.data();
      float* c = Array(0);
#pragma omp parallel for
      for (std::size_t i = 0; i < count_ / kColumns; ++i) {
#pragma omp simd
        for (std::size_t j = 0; j < kColumns; ++j) c[i * kColumns + j] = a[i] + b[j];
      }
    }
    return static_cast<std::uint64_t>((steady_clock::now() - start).count());
  }

 private:
  static constexpr std::size_t kColumns = 2500;

  float* Array(int i) { return reinterpret_cast<float*>(buffers_[static_cast<std::size_t>(i)]->data()); }

  const std::string loop_;
  const std::uint64_t bytes_;
  const std::size_t count_;
  std::vector<std::shared_ptr<HostBuffer>> buffers_;
  const std::vector<float> column_ = std::vector<float>(count_ / kColumns), row_ = std::vector<float>(kColumns);
};

class Server {
 public:
  Server(std::unique_ptr<Device> device, int copy_threads, bool with_long)
      : device_(std::move(device)),
        copy_threads_(copy_threads),
        lane_(device_->OpenLane().value()),
        rows_(RowsFor(device_->info().backend, with_long)) {}

  std::string Answer(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name, folder;
    words >> verb;
    if (verb == "list") return Describe();
    if (verb == "bare") {
      std::string loop;
      std::uint64_t bytes = 0;
      words >> loop >> bytes;
      return BareTimes(loop, bytes, Number(words));
    }
    words >> name;
    const absl::Status made = MakeReady(name);
    if (!made.ok()) return Error(made);
    if (verb == "kernel" || verb == "phases") return Timed(Number(words), verb == "phases");
    if (verb == "lanes") {
      const int lanes = Number(words), each = Number(words);
      return Overlap(std::min(lanes, kMostLanes), each);
    }
    words >> folder;
    if (verb == "inputs") {
      const absl::Status saved = ready_->SaveInputs(folder);
      return saved.ok() ? "{}" : Error(saved);
    }
    if (verb == "outputs") {
      const absl::StatusOr<Times> ran = ready_->Run(*lane_);
      const absl::Status saved = ran.ok() ? ready_->SaveOutputs(folder) : ran.status();
      return saved.ok() ? "{}" : Error(saved);
    }
    return Error(absl::InvalidArgumentError("no verb \"" + verb + "\""));
  }

 private:
  static int Number(std::istringstream& words) {
    int number = 1;
    words >> number;
    return std::max(number, 1);
  }

  const Row* Find(const std::string& name) const {
    for (const Row& row : rows_) {
      if (row.name == name) return &row;
    }
    return nullptr;
  }

  // One at a time is kept: the largest take a gigabyte.
  absl::Status MakeReady(const std::string& name) {
    if (ready_ != nullptr && name == ready_name_) return absl::OkStatus();
    const Row* row = Find(name);
    if (row == nullptr) return absl::NotFoundError("no row \"" + name + "\"; \"list\" lists them");
    ready_ = nullptr;
    absl::StatusOr<std::unique_ptr<Ready>> made = Ready::Make(*row, *device_);
    if (!made.ok()) return made.status();
    ready_ = *std::move(made);
    ready_name_ = name;
    return absl::OkStatus();
  }

  std::string Describe() const {
    const DeviceInfo& info = device_->info();
    std::string text = "{\"device\": " + Quoted(info.name) + ", \"backend\": " + Quoted(info.backend) +
                       ", \"uuid\": " + Quoted(info.uuid) + ", \"instruction_set\": " + Quoted(info.instruction_set) +
                       ", \"compute_capability\": " + Quoted(info.compute_capability) +
                       ", \"memory_bytes\": " + std::to_string(info.memory_bytes) +
                       ", \"threads\": " + std::to_string(info.threads_per_lane) +
                       ", \"copy_threads\": " + std::to_string(copy_threads_) + ", \"rows\": " + ListOf(rows_);
    return text + "}";
  }

  std::string Timed(int repetitions, bool phases) {
    std::vector<std::uint64_t> kernel, up, down, whole;
    for (int i = 0; i < repetitions; ++i) {
      const absl::StatusOr<Times> times = ready_->Run(*lane_);
      if (!times.ok()) return Error(times.status());
      kernel.push_back(times->kernel_ns);
      up.push_back(times->host_to_device_ns);
      down.push_back(times->device_to_host_ns);
      whole.push_back(times->whole_ns);
    }
    if (!phases) return List(kernel);
    const Cost cost = ready_->call().spec->CostOf(ready_->call());
    std::ostringstream text;
    text.precision(17);
    text << "{\"kernel_ns\": " << List(kernel) << ", \"host_to_device_ns\": " << List(up)
         << ", \"device_to_host_ns\": " << List(down) << ", \"whole_ns\": " << List(whole)
         << ", \"flop\": " << cost.flop << ", \"bytes\": " << cost.bytes
         << ", \"input_bytes\": " << ready_->call().InputBytes()
         << ", \"output_bytes\": " << ready_->call().OutputBytes() << "}";
    return text.str();
  }

  std::string Overlap(int lanes, int each) {
    absl::Status failed;
    std::mutex mutex;
    std::latch start(lanes + 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < lanes; ++i) {
      threads.emplace_back([&] {
        absl::StatusOr<std::unique_ptr<Lane>> lane = device_->OpenLane();
        absl::StatusOr<std::unique_ptr<Ready>> ready = Ready::Make(*Find(ready_name_), *device_);
        absl::Status status = lane.ok() ? ready.status() : lane.status();
        if (status.ok()) status = (*ready)->Run(**lane).status();  // warm
        start.arrive_and_wait();
        for (int run = 0; status.ok() && run < each; ++run) status = (*ready)->Run(**lane).status();
        const std::scoped_lock lock(mutex);
        if (!status.ok()) failed = status;
      });
    }
    start.arrive_and_wait();
    const auto begin = steady_clock::now();
    for (std::thread& thread : threads) thread.join();
    const auto parallel = (steady_clock::now() - begin).count();
    if (!failed.ok()) return Error(failed);
    const absl::Status warm = ready_->Run(*lane_).status();
    const auto alone = steady_clock::now();
    for (int run = 0; warm.ok() && run < lanes * each; ++run) {
      if (const absl::Status status = ready_->Run(*lane_).status(); !status.ok()) return Error(status);
    }
    const auto serial = (steady_clock::now() - alone).count();
    return "{\"lanes\": " + std::to_string(lanes) + ", \"runs\": " + std::to_string(lanes * each) +
           ", \"together_ns\": " + std::to_string(parallel) + ", \"one_lane_ns\": " + std::to_string(serial) + "}";
  }

  std::string BareTimes(const std::string& loop, std::uint64_t bytes, int repetitions) {
    if (loop != "triad" && loop != "fill" && loop != "broadcast") {
      return Error(absl::InvalidArgumentError("no bare loop \"" + loop + "\""));
    }
    if (bytes < kLeastBareBytes || bytes > kMostBareBytes) {
      return Error(absl::InvalidArgumentError("a " + loop + " of " + std::to_string(kLeastBareBytes) + " to " +
                                              std::to_string(kMostBareBytes) + " bytes, not " + std::to_string(bytes)));
    }
    if (bare_ == nullptr || !bare_->Is(loop, bytes)) {
      bare_ = nullptr;  // one at a time
      bare_ = std::make_unique<Bare>(loop, bytes);
    }
    std::vector<std::uint64_t> times;
    for (int i = 0; i < repetitions; ++i) times.push_back(bare_->Run());
    return List(times);
  }

  const std::unique_ptr<Device> device_;
  const int copy_threads_;
  const std::unique_ptr<Lane> lane_;
  const std::vector<Row> rows_;
  std::string ready_name_;
  std::unique_ptr<Ready> ready_;
  std::unique_ptr<Bare> bare_;
};

std::optional<int> Number(const std::string& digits) {
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoi(digits);
}

// The N of "gpuN", 0 of "cuda", -1 of "cpu"; nothing of another word.
std::optional<int> GpuNamed(const std::string& device) {
  if (device == "cpu") return -1;
  if (device == "cuda") return 0;
  return Number(device.starts_with("gpu") ? device.substr(3) : "");
}

int Serve(int gpu, std::optional<int> wanted_copy_threads, bool with_long) {
  std::unique_ptr<Device> device;
  int copy_threads = 0;
  if (gpu < 0) {
    device = OpenCpuDevice({.lanes = 1});
  } else {
    CudaOptions options;
    options.lanes = kMostLanes;
    options.indices = {gpu};
    const HostShare share = HostShareFor(kMostLanes, cpu::ReadMemory().total, cpu::UsableThreads());
    options.copy_threads = copy_threads = wanted_copy_threads.value_or(share.copy_threads);
    options.pinned_bytes = share.pinned_bytes;
    DeviceSet found = OpenCudaDevices(options, BuiltinCatalog());
    for (const std::string& note : found.notes) std::cerr << note << "\n";
    if (found.devices.empty()) return kExitNoDevice;
    device = std::move(found.devices.front());
  }
  Server server(std::move(device), copy_threads, with_long);
  for (std::string line; std::getline(std::cin, line);) std::cout << server.Answer(line) << std::endl;
  return 0;
}

}  // namespace
}  // namespace hotplate::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::optional<int> gpu = -1, copy_threads;
  bool with_long = false, list = false, understood = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--long") {
      with_long = true;
    } else if (words[i] == "--list") {
      list = true;
    } else if (words[i] == "--device" && i + 1 < words.size()) {
      gpu = hotplate::bench::GpuNamed(words[++i]);
      understood = understood && gpu.has_value();
    } else if (words[i] == "--copy-threads" && i + 1 < words.size()) {
      copy_threads = hotplate::bench::Number(words[++i]);
      understood = understood && copy_threads.has_value();
    } else {
      understood = false;
    }
  }
  if (understood && list) {
    std::cout << hotplate::bench::ListOf(hotplate::bench::RowsFor(*gpu < 0 ? "cpu" : "cuda", with_long)) << std::endl;
    return 0;
  }
  if (understood) return hotplate::bench::Serve(*gpu, copy_threads, with_long);
  std::cerr << "usage: bench_kernels [--device cpu|cuda|gpuN] [--copy-threads N] [--long] [--list]\n";
  return 2;
}
