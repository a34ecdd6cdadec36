#include "tests/unit/core/fakes.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"

namespace hotplate::core::testing {

bool Eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Gate::Open() {
  std::scoped_lock lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void Gate::Enter() {
  std::unique_lock lock(mutex_);
  ++entered_;
  changed_.notify_all();
  changed_.wait_for(lock, kPatience, [&] { return open_; });
}

bool Gate::AwaitEntered(int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return entered_ >= count; });
}

bool Gate::EnterUnlessCancelled(TaskControl& control) {
  std::unique_lock lock(mutex_);
  ++entered_;
  changed_.notify_all();
  const auto cancelled = [&] { return std::atomic_ref(control.plain().cancel).load() != 0; };
  while (!open_ && !cancelled()) changed_.wait_for(lock, std::chrono::milliseconds(1));
  return cancelled();
}

Report CopyBody(const Task& task, TaskControl&) {
  for (int i = 0; i < task.call.output_count; ++i) {
    if (task.call.inputs[0].bytes == 0) continue;
    std::memcpy(task.call.outputs[i].data, task.call.inputs[0].data, task.call.inputs[0].bytes);
  }
  Report report;
  report.kernel_ns = 1000;
  report.threads = 1;
  return report;
}

Report EndsWith(const Outcome& outcome) {
  Report report;
  report.outcome = outcome;
  return report;
}

namespace {

class FakeLane final : public Lane {
 public:
  FakeLane(const std::map<std::string, KernelBody>& bodies, bool any_thread, std::atomic<int>& lanes)
      : bodies_(bodies), any_thread_(any_thread), thread_(std::this_thread::get_id()), lanes_(lanes) {
    ++lanes_;
  }
  ~FakeLane() override { --lanes_; }

  Report Run(const Task& task, TaskControl& control) override {
    if (!any_thread_ && thread_ != std::this_thread::get_id()) {
      return EndsWith(Outcome::Failed("run on another thread"));
    }
    if (busy_.exchange(true)) return EndsWith(Outcome::Failed("run twice at once"));
    Report report = bodies_.at(task.kernel)(task, control);
    busy_ = false;
    return report;
  }

 private:
  const std::map<std::string, KernelBody>& bodies_;
  const bool any_thread_;
  const std::thread::id thread_;
  std::atomic<int>& lanes_;
  std::atomic<bool> busy_{false};
};

KernelSpecBuilder CopySpec(const std::string& name, bool chunked, bool two) {
  KernelSpecBuilder builder(name, "y = x");
  ParamSpec seed;
  seed.name = "seed";
  seed.type = ParamType::kInt;
  seed.default_value = std::int64_t{7};
  builder.Param(seed);
  builder.Input("x", "float32", "n").Output("y", "float32", "n");
  if (two) builder.Output("z", "float32", "n");
  builder.CostModel("2 * n FLOP", [](const BoundCall& call) {
    return Cost{.flop = static_cast<double>(call.InputBytes()) / 2, .bytes = 8};
  });
  builder.WorkBound([](const BoundCall& call) { return static_cast<double>(call.InputBytes()) / 2; });
  if (chunked) builder.Chunked(100);
  return builder;
}

// A kernel of which nobody knows how long it takes, or which says so in a way that means nothing.
KernelSpecBuilder UnboundedSpec(const std::string& name, std::optional<double> work) {
  KernelSpecBuilder builder(name, "y = x");
  builder.Input("x", "float32", "n").Output("y", "float32", "n");
  if (work) {
    builder.CostModel("none", [](const BoundCall&) { return Cost{}; });
    builder.WorkBound([work](const BoundCall&) { return *work; });
  }
  return builder;
}

// What comes out depends on the data.
KernelSpecBuilder SomeSpec() {
  return KernelSpecBuilder("some", "some of x").Input("x", "float32", "n").Output("y", "float32", "at most n");
}

KernelSpecBuilder SumSpec() {
  return KernelSpecBuilder("sum", "of two inputs")
      .Input("x", "float32", "n")
      .Input("z", "float32", "n")
      .Output("y", "float32", "n");
}

KernelSpecBuilder MeasureSpec() {
  return KernelSpecBuilder("measure", "y = x")
      .Input("x", "float32", "n")
      .Output("y", "float32", "n")
      .SameBits(Determinism::kNever);
}

}  // namespace

FakeDevice::FakeDevice(FakeDeviceOptions options, std::map<std::string, KernelBody> bodies)
    : lanes_open(options.lanes_open),
      free_bytes(options.memory_bytes),
      options_(std::move(options)),
      bodies_(std::move(bodies)) {
  info_.id = options_.id;
  info_.backend = options_.backend;
  info_.name = options_.name;
  info_.memory_bytes = options_.memory_bytes;
  info_.lanes = options_.lanes;
  info_.host_memory = options_.host_memory;
  info_.any_thread = options_.any_thread;
}

absl::StatusOr<MemoryPlan> FakeDevice::Plan(const BoundCall& call) const {
  if (bodies_.count(call.spec->name()) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(info_.id, " has no kernel ", call.spec->name()));
  }
  return MemoryPlan{.scratch_bytes = options_.scratch_bytes};
}

absl::StatusOr<std::unique_ptr<Lane>> FakeDevice::OpenLane() {
  if (!lanes_open) return absl::InternalError("the driver is not well");
  ++opened_lanes;
  return std::make_unique<FakeLane>(bodies_, options_.any_thread, lanes);
}

absl::Status FakeDevice::Reopen() {
  if (lanes != 0) return absl::InternalError("lanes are open");
  if (reopenings.fetch_add(1) > 0 && options_.reopen == nullptr) return absl::InternalError("tried again");
  return options_.reopen != nullptr ? options_.reopen() : Device::Reopen();
}

DeviceMetrics FakeDevice::Sample() {
  DeviceMetrics metrics;
  metrics.utilisation = 0.25;
  return metrics;
}

const Catalog& FakeCatalog() {
  static const Catalog& catalog =
      *new Catalog(Catalog::Of({CopySpec("copy", false, false), CopySpec("other", false, false),
                                CopySpec("loop", true, false), CopySpec("two", false, true), SomeSpec(), SumSpec(),
                                MeasureSpec(), UnboundedSpec("silent", std::nullopt), UnboundedSpec("no_work", 0),
                                UnboundedSpec("less_work", -1), UnboundedSpec("nan_work", std::nan("")),
                                UnboundedSpec("all_work", std::numeric_limits<double>::infinity())})
                       .value());
  return catalog;
}

void Recorder::OnChange(const JobId& id, std::uint64_t tag, const StateChange& event,
                        const std::shared_ptr<const JobEnd>& end) {
  const std::pair key(id.value(), tag);
  const Seen seen{id, tag, event, end};
  {
    std::scoped_lock lock(mutex_);
    if (++in_call_[key] > 1) complaints_.push_back(absl::StrCat("two calls at once for job ", id.value()));
    if (ended_[key]) complaints_.push_back(absl::StrCat("an event after the end of job ", id.value()));
    std::uint64_t& last = last_sequence_[key];
    if (last != 0 && event.sequence != last + 1) {
      complaints_.push_back(absl::StrCat("job ", id.value(), ": event ", event.sequence, " after ", last));
    }
    if ((end != nullptr) != IsEnd(event.state)) {
      complaints_.push_back(absl::StrCat("job ", id.value(), ": an end without an end state, or the reverse"));
    }
    last = event.sequence;
    if (end != nullptr) ended_[key] = true;
    seen_.push_back(seen);
    if (end != nullptr) ++ends_;
    changed_.notify_all();
  }
  if (on_event) on_event(seen);
  std::scoped_lock lock(mutex_);
  --in_call_[key];
}

void Recorder::OnProgress(const JobId& id, std::uint64_t tag, const JobProgress& progress) {
  std::scoped_lock lock(mutex_);
  const std::pair key(id.value(), tag);
  if (in_call_[key] > 0) complaints_.push_back(absl::StrCat("progress during an event of job ", id.value()));
  if (ended_[key]) complaints_.push_back(absl::StrCat("progress after the end of job ", id.value()));
  progress_.push_back(progress.fraction);
  changed_.notify_all();
}

void Recorder::OnNotice(const std::string& text, std::optional<double>) {
  std::scoped_lock lock(mutex_);
  notices_.push_back(text);
  changed_.notify_all();
}

void Recorder::OnFlush() {}

std::shared_ptr<const JobEnd> Recorder::AwaitEnd(std::uint64_t tag) {
  std::shared_ptr<const JobEnd> end;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&] {
    for (const Seen& one : seen_) {
      if (one.tag == tag && one.end != nullptr) end = one.end;
    }
    return end != nullptr;
  });
  return end;
}

bool Recorder::AwaitState(std::uint64_t tag, JobState state) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] {
    for (const Seen& one : seen_) {
      if (one.tag == tag && one.event.state == state) return true;
    }
    return false;
  });
}

bool Recorder::AwaitEnds(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return ends_ >= count; });
}

std::vector<Recorder::Seen> Recorder::events(std::uint64_t tag) const {
  std::scoped_lock lock(mutex_);
  std::vector<Seen> of_tag;
  for (const Seen& one : seen_) {
    if (one.tag == tag) of_tag.push_back(one);
  }
  return of_tag;
}

std::vector<JobState> Recorder::states(std::uint64_t tag) const {
  std::vector<JobState> states;
  for (const Seen& one : events(tag)) states.push_back(one.event.state);
  return states;
}

std::vector<double> Recorder::progress() const {
  std::scoped_lock lock(mutex_);
  return progress_;
}

std::vector<std::string> Recorder::notices() const {
  std::scoped_lock lock(mutex_);
  return notices_;
}

std::size_t Recorder::ends() const {
  std::scoped_lock lock(mutex_);
  return ends_;
}

std::vector<std::string> Recorder::complaints() const {
  std::scoped_lock lock(mutex_);
  return complaints_;
}

std::shared_ptr<const HostBuffer> Floats(const std::vector<float>& values) {
  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(buffer->data(), values.data(), buffer->size());
  return buffer;
}

std::vector<float> ToFloats(const HostBuffer& buffer) {
  std::vector<float> values(buffer.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

JobRequest Request(const std::string& kernel, const std::vector<float>& x) {
  JobRequest request;
  request.kernel = kernel;
  JobInput& input = request.inputs.emplace_back();
  input.name = std::string("x");  // GCC 12 warns of assigning a literal here
  input.signature = {DType::kFloat32, {static_cast<std::int64_t>(x.size())}};
  input.source = Floats(x);
  return request;
}

}  // namespace hotplate::core::testing
