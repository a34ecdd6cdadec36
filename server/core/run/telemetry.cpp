#include "server/core/run/telemetry.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <thread>
#include <utility>

#include "kernels/base/mutex.h"

namespace hotplate::core {
namespace {

// /proc/self/stat, held open: one read gives both numbers.
class ProcessStat {
 public:
  ProcessStat() : descriptor_(open("/proc/self/stat", O_RDONLY | O_CLOEXEC)) {}
  ~ProcessStat() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ProcessStat(const ProcessStat&) = delete;
  ProcessStat& operator=(const ProcessStat&) = delete;

  // Leaves both as they are where there is no /proc.
  void Read(std::uint64_t& resident_bytes, std::uint32_t& threads) const {
    std::array<char, 1024> text{};
    const ssize_t length = descriptor_ < 0 ? -1 : pread(descriptor_, text.data(), text.size(), 0);
    if (length <= 0) return;
    std::string_view rest(text.data(), static_cast<std::size_t>(length));
    // The second field, the name, may hold anything; fields are counted from its closing parenthesis.
    const std::size_t name_end = rest.rfind(')');
    if (name_end == std::string_view::npos) return;
    rest.remove_prefix(name_end + 1);
    constexpr int kThreads = 20, kResidentPages = 24;
    for (int field = 3; field <= kResidentPages; ++field) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      std::uint64_t value = 0;
      std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (field == kThreads) threads = static_cast<std::uint32_t>(value);
      if (field == kResidentPages) resident_bytes = value * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
      rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    }
  }

 private:
  const int descriptor_;
};

}  // namespace

class TelemetrySampler::Impl {
 public:
  Impl(Engine& engine, const Clock& clock) : engine_(engine), clock_(clock) {
    ring_.reserve(kRingSize);
    Add(Take());
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    wake_.NotifyAll();
    thread_.join();
  }

  // The newest is at `newest_`; before it, going round, the older ones.
  std::vector<TelemetrySample> History(std::size_t count) const {
    MutexLock lock(mutex_);
    count = std::min(count, ring_.size());
    std::vector<TelemetrySample> samples;
    samples.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      samples.push_back(ring_[(newest_ + ring_.size() - (count - 1 - i)) % ring_.size()]);
    }
    return samples;
  }

 private:
  void Run() {
    auto next = std::chrono::steady_clock::now() + kInterval;
    while (true) {
      {
        MutexLock lock(mutex_);
        while (!stopping_ && wake_.WaitUntil(mutex_, next)) {
        }
        if (stopping_) return;
      }
      Add(Take());
      // A sample that took too long costs samples, not the pace of those after it.
      const auto now = std::chrono::steady_clock::now();
      next = std::max(next + kInterval, now);
    }
  }

  TelemetrySample Take() const {
    TelemetrySample sample;
    sample.time = clock_.WallNow();
    sample.daemon.engine = engine_.Status();
    const auto& states = sample.daemon.engine.devices;
    for (std::size_t i = 0; i < engine_.devices().size(); ++i) {
      const Device& device = *engine_.devices()[i];
      DeviceSample one;
      one.device = device.info().id;
      one.jobs_running = states[i].running;
      // A device that is lost may not even answer.
      if (states[i].lost.empty()) one.metrics = engine_.SampleDevice(i);
      sample.devices.push_back(std::move(one));
    }
    process_.Read(sample.daemon.resident_bytes, sample.daemon.threads);
    sample.daemon.array_bytes = engine_.arrays().bytes_held();
    sample.daemon.array_bytes_limit = engine_.arrays().limits().total_bytes;
    return sample;
  }

  void Add(TelemetrySample sample) {
    MutexLock lock(mutex_);
    if (ring_.size() < kRingSize) {
      ring_.push_back(std::move(sample));
      newest_ = ring_.size() - 1;
    } else {
      newest_ = (newest_ + 1) % kRingSize;
      ring_[newest_] = std::move(sample);
    }
  }

  Engine& engine_;
  const Clock& clock_;
  const ProcessStat process_;

  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<TelemetrySample> ring_ ABSL_GUARDED_BY(mutex_);
  std::size_t newest_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

TelemetrySampler::TelemetrySampler(Engine& engine, const Clock& clock) : impl_(std::make_unique<Impl>(engine, clock)) {}
TelemetrySampler::~TelemetrySampler() = default;

TelemetrySample TelemetrySampler::Newest() const { return std::move(impl_->History(1).back()); }
std::vector<TelemetrySample> TelemetrySampler::History(std::size_t count) const { return impl_->History(count); }

}  // namespace hotplate::core
