// Jobs that run: their story, their outputs, their receipts, and how kernels can end.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EngineRunTest : public EngineTest {};

TEST_F(EngineRunTest, AJobTellsItsWholeStoryInOrder) {
  Start();
  JobRequest request = Request("copy", {1, 2, 3});
  request.params["seed"] = std::int64_t{9};
  const JobId id = Submit(request, 42);
  EXPECT_EQ(id.value(), "1");
  const auto end = recorder_->AwaitEnd(42);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kCompleted);
  EXPECT_TRUE(end->error.ok());
  ASSERT_EQ(end->outputs.size(), 1u);
  EXPECT_EQ(end->outputs[0].name, "y");
  EXPECT_EQ(ToString(end->outputs[0].signature), "float32 [3]");
  EXPECT_THAT(ToFloats(*end->outputs[0].data), ElementsAre(1, 2, 3));
  EXPECT_THAT(recorder_->states(42), ElementsAre(JobState::kPending, JobState::kRunning, JobState::kCompleted));
  EXPECT_EQ(recorder_->events(42)[1].event.device, "cpu0");

  const JobSnapshot snapshot = *engine_->Get(kAlice, id);
  EXPECT_EQ(snapshot.kernel, "copy");
  EXPECT_THAT(snapshot.param_names, ElementsAre("seed"));
  EXPECT_EQ(std::get<std::int64_t>(snapshot.params[0]), 9);
  EXPECT_EQ(snapshot.state, JobState::kCompleted);
  EXPECT_EQ(snapshot.progress, 1);
  EXPECT_TRUE(snapshot.detached);
  EXPECT_EQ(snapshot.changes.size(), 3u);
  EXPECT_EQ(snapshot.device, "cpu0");
  ASSERT_NE(snapshot.end, nullptr);
  EXPECT_THAT(ToFloats(*snapshot.end->outputs[0].data), ElementsAre(1, 2, 3));
}

TEST_F(EngineRunTest, TheReceiptHasWhatTheLaneReported) {
  bodies_["copy"] = [this](const Task& task, TaskControl& control) {
    clock_.Advance(std::chrono::milliseconds(5));
    Report report = CopyBody(task, control);
    report.kernel_ns = 3'000'000;
    report.host_to_device_ns = 1'000;
    report.threads = 2;
    return report;
  };
  AddDevice({.scratch_bytes = 100});
  Start();
  Submit(Request("copy", {1, 2, 3, 4}), 1);
  Submit(Request("copy", {1, 2, 3, 4}), 2);
  const auto first = recorder_->AwaitEnd(1);
  const auto second = recorder_->AwaitEnd(2);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  ASSERT_TRUE(first->receipt.has_value());
  const JobReceipt& receipt = *first->receipt;
  EXPECT_EQ(receipt.device, "cpu0");
  EXPECT_EQ(receipt.kernel, std::chrono::milliseconds(3));
  EXPECT_EQ(receipt.host_to_device, std::chrono::microseconds(1));
  EXPECT_FALSE(receipt.load || receipt.compile || receipt.device_to_host || receipt.compile_cache_hit);
  EXPECT_GE(receipt.total, std::chrono::milliseconds(5));
  EXPECT_EQ(receipt.threads, 2);
  EXPECT_EQ(receipt.cost.flop, 8);
  EXPECT_EQ(receipt.seed, 7u) << "of a kernel that has one";
  EXPECT_EQ(receipt.peak_bytes, 16u + 16u + 100u);
  EXPECT_TRUE(receipt.cold);
  EXPECT_FALSE(second->receipt->cold);
  EXPECT_FALSE(receipt.device_shared);
}

TEST_F(EngineRunTest, JobsOnOneDeviceAtTheSameTimeSayThatItWasShared) {
  bodies_["other"] = Uninterruptible();
  AddDevice({.lanes = 2});
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("other"), 2);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  EXPECT_EQ(engine_->Status().running, 2u);
  gate_.Open();
  EXPECT_TRUE(recorder_->AwaitEnd(1)->receipt->device_shared);
  EXPECT_TRUE(recorder_->AwaitEnd(2)->receipt->device_shared);
}

TEST_F(EngineRunTest, AParameterReachesTheKernelGivenOrNot) {
  std::atomic<std::int64_t> seed{0};
  bodies_["copy"] = [&](const Task& task, TaskControl& control) {
    seed = Call(task.call).Int("seed");
    return CopyBody(task, control);
  };
  Start();
  Submit(Request("copy"), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_EQ(seed, 7) << "the default";
  JobRequest request = Request("copy");
  request.params = {{"seed", std::int64_t{9}}};
  Submit(std::move(request), 2);
  ASSERT_NE(recorder_->AwaitEnd(2), nullptr);
  EXPECT_EQ(seed, 9);
}

TEST_F(EngineRunTest, KernelsFailInTheirOwnWords) {
  bodies_["copy"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::Invalid("x is not positive")); };
  bodies_["other"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::OutOfMemory("3 GiB")); };
  bodies_["two"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::Failed("library error 7")); };
  bodies_["loop"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::Cancelled()); };
  Start();
  const std::vector<std::pair<std::string, absl::StatusCode>> cases = {{"copy", absl::StatusCode::kInvalidArgument},
                                                                       {"other", absl::StatusCode::kResourceExhausted},
                                                                       {"two", absl::StatusCode::kInternal},
                                                                       {"loop", absl::StatusCode::kInternal}};
  std::uint64_t tag = 0;
  for (const auto& [kernel, code] : cases) {
    Submit(Request(kernel), ++tag);
    const auto end = recorder_->AwaitEnd(tag);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->state, JobState::kFailed) << kernel;
    EXPECT_EQ(end->error.code(), code) << end->error;
    EXPECT_THAT(Text(end->error), HasSubstr(kernel));
    EXPECT_THAT(end->outputs, IsEmpty());
    EXPECT_TRUE(end->receipt.has_value());
  }
  EXPECT_THAT(Text(recorder_->AwaitEnd(1)->error), HasSubstr("x is not positive"));
  EXPECT_THAT(Fields(recorder_->AwaitEnd(1)->error), IsEmpty());
  EXPECT_THAT(Fields(recorder_->AwaitEnd(2)->error), ElementsAre("memory"));
  EXPECT_THAT(Text(recorder_->AwaitEnd(4)->error), HasSubstr("nobody asked"));
  EXPECT_TRUE(Eventually([&] { return store_->bytes_held() == 0; })) << "outputs of failed jobs are freed";
  EXPECT_EQ(engine_->Status().devices[0].lost, "") << "the device is as good as before";
}

TEST_F(EngineRunTest, OutputsBeyondTheInlineLimitBecomeArrays) {
  options_.inline_bytes = 31;  // two outputs of 16 are together larger
  Start();
  Submit(Request("two", {1, 2, 3, 4}), 1);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  ASSERT_EQ(end->outputs.size(), 2u);
  for (const JobOutputValue& output : end->outputs) {
    EXPECT_EQ(output.data, nullptr);
    const auto reader = store_->Open(kAlice2, output.array.value());
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_TRUE(reader->array.owner.session.empty()) << "a detached job's outputs are no session's";
    EXPECT_THAT(ToFloats(*reader->buffer), ElementsAre(1, 2, 3, 4));
  }
  engine_->EndSession(kAlice.session);
  EXPECT_EQ(store_->List(kAlice).size(), 2u);
}

TEST_F(EngineRunTest, LargeOutputsOfAttachedJobsBelongToTheSession) {
  options_.inline_bytes = 1;
  Start();
  JobRequest request = Request("copy");
  request.attached = true;
  Submit(request, 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  ASSERT_EQ(store_->List(kAlice).size(), 1u);
  EXPECT_EQ(store_->List(kAlice)[0].owner.session, kAlice.session);
  engine_->EndSession(kAlice.session);
  EXPECT_THAT(store_->List(kAlice), IsEmpty());
}

TEST_F(EngineRunTest, KeptOutputsGetTheirNameAndLease) {
  Start();
  JobRequest request = Request("two");
  request.outputs = {{"y", true, "Y", std::chrono::minutes(5)}, {"z", true, "", std::nullopt}};
  Submit(request, 1);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  const auto y = store_->Describe(kAlice, "Y");
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(y->id, end->outputs[0].array);
  EXPECT_TRUE(y->lease_end.has_value());
  EXPECT_EQ(store_->Describe(kAlice, end->outputs[1].array.value())->owner.session, kAlice.session);

  JobRequest next = Request("copy");
  next.inputs[0].source = std::string("Y");
  next.inputs[0].signature = {};
  Submit(next, 2);
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(1, 2, 3)) << "arrays are inputs";
}

TEST_F(EngineRunTest, AnInputMayBeFreedWhileItsJobWaits) {
  bodies_["other"] = Uninterruptible();
  Start();
  const auto array = store_->Adopt(kAlice, {DType::kFloat32, {2}}, "X", std::nullopt, Floats({5, 6}));
  ASSERT_TRUE(array.ok());
  Submit(Request("other"), 1);
  JobRequest request = Request("copy");
  request.inputs[0].source = array->id.value();
  Submit(request, 2);
  ASSERT_TRUE(store_->Free(kAlice, "X").ok());
  gate_.Open();
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(5, 6));
}

TEST_F(EngineRunTest, InputsByPathAreReadOnTheLane) {
  const std::string path = ::testing::TempDir() + "core_test_" + std::to_string(getpid()) + ".npy";
  {
    const std::string header = NpyHeaderFor({DType::kFloat32, {2}});
    const float values[] = {7, 8};
    std::ofstream file(path, std::ios::binary);
    file << header;
    file.write(reinterpret_cast<const char*>(values), sizeof values);
  }
  Start();
  auto opened = NpyFile::Open(path);
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened));
  JobRequest request = Request("copy");
  request.inputs[0].signature = {};
  request.inputs[0].source = std::make_shared<const NpyFile>(std::get<NpyFile>(std::move(opened)));
  Submit(request, 1);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_THAT(ToFloats(*end->outputs[0].data), ElementsAre(7, 8));
  EXPECT_TRUE(end->receipt->load.has_value());

  // Shortened between the submission and the run.
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  Submit(request, 2);
  const auto failed = recorder_->AwaitEnd(2);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->state, JobState::kFailed);
  EXPECT_THAT(Text(failed->error), HasSubstr("x: "));
  unlink(path.c_str());
}

TEST_F(EngineRunTest, ALostDeviceFailsItsJobsAndTakesNoMore) {
  bodies_["other"] = [this](const Task&, TaskControl&) {
    gate_.Enter();
    return EndsWith(Outcome::DeviceLost("error 700"));
  };
  AddDevice({.id = "gpu0", .backend = "cuda"});
  AddDevice({.id = "cpu0"});
  Start();
  JobRequest fatal = Request("other");
  fatal.device = "gpu0";
  Submit(fatal, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  JobRequest bound = Request("copy");
  bound.device = "gpu0";
  Submit(bound, 2);
  gate_.Open();

  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_THAT(Text(end->error), AllOf(HasSubstr("gpu0"), HasSubstr("other"), HasSubstr("error 700")));
  const auto stranded = recorder_->AwaitEnd(2);
  ASSERT_NE(stranded, nullptr);
  EXPECT_EQ(stranded->state, JobState::kFailed);
  EXPECT_EQ(stranded->error.code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(stranded->receipt.has_value());

  const absl::Status refused = Refusal(bound);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(refused), AllOf(HasSubstr("gpu0 is lost"), HasSubstr("other"), HasSubstr("cpu0")));
  EXPECT_THAT(engine_->Status().devices[0].lost, AllOf(HasSubstr("error 700"), HasSubstr("since 2023-11-14 22:13:2")));
  EXPECT_EQ(engine_->Status().devices[1].lost, "");
  const absl::Status unchosen = Refusal(Request("copy"));
  EXPECT_THAT(Text(unchosen),
              AllOf(HasSubstr("copy can run on no GPU"), HasSubstr("gpu0 is lost"), HasSubstr("\"any\"")));
  JobRequest any = Request("copy");
  any.device = "any";
  Submit(any, 3);
  EXPECT_EQ(recorder_->AwaitEnd(3)->receipt->device, "cpu0");
}

TEST_F(EngineRunTest, ADeviceWhoseLanesDoNotOpenIsLostFromTheStart) {
  AddDevice({.id = "gpu0", .backend = "cuda", .lanes = 2, .lanes_open = false});
  AddDevice({.id = "cpu0"});
  Start();
  EXPECT_THAT(engine_->Status().devices[0].lost,
              AllOf(HasSubstr("the driver is not well"), HasSubstr("(since 2023-11-14 22:13:2")));
  JobRequest any = Request("copy");
  any.device = "any";
  Submit(any, 1);
  EXPECT_EQ(recorder_->AwaitEnd(1)->receipt->device, "cpu0");
}

TEST_F(EngineRunTest, WhoDoesNotChooseGetsTheFastDevice) {
  AddDevice({.id = "cpu0"});
  AddDevice({.id = "gpu0", .backend = "cuda", .host_memory = false});
  Start();
  for (std::uint64_t tag = 1; tag <= 5; ++tag) {
    Submit(Request("copy"), tag);
    EXPECT_EQ(recorder_->AwaitEnd(tag)->receipt->device, "gpu0");
  }
  JobRequest on_cpu = Request("copy");
  on_cpu.device = "cpu0";
  Submit(on_cpu, 9);
  EXPECT_EQ(recorder_->AwaitEnd(9)->receipt->device, "cpu0");
}

TEST_F(EngineRunTest, OutputMemoryThatIsNotToBeHadFailsTheJob) {
  limits_.total_bytes = 3 << 20;
  Start();
  const auto hog = store_->AllocateBuffer((3 << 20) - 100);
  ASSERT_TRUE(hog.ok());
  Submit(Request("copy", std::vector<float>(100)), 1);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_EQ(end->error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(end->error), AllOf(HasSubstr("y: "), HasSubstr("400"), HasSubstr("array-bytes")));
  EXPECT_THAT(Fields(end->error), ElementsAre("memory"));
}

TEST_F(EngineRunTest, AJobWaitsUntilItsDeviceHasRoom) {
  constexpr std::size_t kFloats = std::size_t{1} << 20;  // 4 MiB out
  AddDevice({.memory_bytes = 64 << 20});
  Start();
  fakes_[0]->free_bytes = 1 << 20;
  const int asked = fakes_[0]->times_asked;
  // With the second look that began since then, the first has arrived.
  ASSERT_TRUE(Eventually([&] { return fakes_[0]->times_asked >= asked + 2; }));
  EXPECT_EQ(engine_->Check(kAlice, Request("copy", std::vector<float>(kFloats)))->devices[0].when,
            CheckReport::Fit::When::kLater);
  Submit(Request("copy", std::vector<float>(kFloats)), 1);
  Submit(Request("copy", {1}), 2, kBob);
  ASSERT_NE(recorder_->AwaitEnd(2), nullptr) << "a small job of another session passes";
  EXPECT_EQ(engine_->Status().pending, 1u);
  fakes_[0]->free_bytes = 64 << 20;
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
}

TEST_F(EngineRunTest, RoomIsGivenBack) {
  AddDevice({.memory_bytes = 10 << 20, .lanes = 2});
  Start();
  // Each needs 8 of 10 MiB: one after the other, and none is left waiting.
  for (std::uint64_t tag = 1; tag <= 5; ++tag) Submit(Request("copy", std::vector<float>(1 << 20)), tag);
  ASSERT_TRUE(recorder_->AwaitEnds(5));
  for (std::uint64_t tag = 1; tag <= 5; ++tag) EXPECT_EQ(recorder_->AwaitEnd(tag)->state, JobState::kCompleted);
}

TEST_F(EngineRunTest, JobsThatDoNotFitTogetherDoNotRunTogether) {
  bodies_["other"] = Uninterruptible();
  AddDevice({.id = "gpu0", .backend = "cuda", .memory_bytes = 10 << 20, .lanes = 2, .host_memory = false});
  Start();
  Submit(Request("other", std::vector<float>(1 << 20)), 1);  // 8 of 10 MiB
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy", std::vector<float>(1 << 20)), 2);
  Submit(Request("copy", {1}), 3, kBob);
  ASSERT_NE(recorder_->AwaitEnd(3), nullptr) << "what fits beside it passes";
  EXPECT_EQ(engine_->Status().pending, 1u);
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
}

TEST_F(EngineRunTest, ACheckNamesTheJobThatIsWaitedFor) {
  constexpr std::size_t kQuarter = std::size_t{1} << 18;  // floats: of 4 MiB, 1 in and 1 out
  bodies_["other"] = Uninterruptible();
  AddDevice({.id = "gpu0", .backend = "cuda", .memory_bytes = 4 << 20, .lanes = 2, .host_memory = false});
  Start();
  const auto check = [&](std::size_t floats, const Principal& who) {
    const absl::StatusOr<CheckReport> report = engine_->Check(who, Request("copy", std::vector<float>(floats)));
    EXPECT_TRUE(report.ok()) << report.status();
    return report->devices.at(0);
  };
  using When = CheckReport::Fit::When;
  EXPECT_EQ(check(2 * kQuarter, kAlice).when, When::kNow);

  const JobId running = Submit(Request("other", std::vector<float>(kQuarter)), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  EXPECT_EQ(check(kQuarter, kAlice).when, When::kNow) << "there is room for both";
  CheckReport::Fit fit = check(2 * kQuarter, kAlice);
  EXPECT_EQ(fit.when, When::kLater);
  EXPECT_EQ(fit.bytes_needed, 4u << 20);
  EXPECT_EQ(fit.bytes_free, 2u << 20);
  ASSERT_TRUE(fit.after);
  EXPECT_EQ(fit.after->id, running);
  EXPECT_EQ(fit.after->kernel, "other");
  EXPECT_EQ(check(2 * kQuarter, kBob).after->kernel, "") << "another token's job has no name";
  EXPECT_EQ(check(2 * kQuarter, kRoot).after->kernel, "other");
  EXPECT_EQ(check(3 * kQuarter, kAlice).when, When::kNever);

  const JobId waiting = Submit(Request("copy", std::vector<float>(2 * kQuarter)), 2);
  EXPECT_EQ(check(2 * kQuarter, kAlice).after->id, waiting) << "it came first";
  JobRequest urgent = Request("copy", std::vector<float>(2 * kQuarter));
  urgent.priority = 1;
  EXPECT_EQ(engine_->Check(kAlice, urgent)->devices[0].after->id, running);

  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(2));
  fakes_[0]->free_bytes = 1 << 20;  // another program's
  fit = check(2 * kQuarter, kAlice);
  EXPECT_EQ(fit.when, When::kLater);
  EXPECT_FALSE(fit.after);
  EXPECT_EQ(fit.bytes_held, 3u << 20);
  EXPECT_EQ(fit.bytes_of_arrays, 0u) << "a GPU drops its copies of arrays";
}

TEST_F(EngineRunTest, ACheckNamesForEachDeviceTheJobThatIsWaitedForThere) {
  const std::vector<float> whole(std::size_t{1} << 18);  // 1 MiB in and 1 out
  bodies_["other"] = Uninterruptible();
  for (const char* id : {"gpu0", "gpu1"}) {
    AddDevice({.id = id, .backend = "cuda", .memory_bytes = 2 << 20, .host_memory = false});
  }
  Start();
  const auto submit = [&](const char* kernel, const char* device, int priority, std::uint64_t tag) {
    JobRequest request = Request(kernel, whole);
    request.device = device;
    request.priority = priority;
    return Submit(std::move(request), tag);
  };
  const auto after = [&](int priority) {
    JobRequest request = Request("copy", whole);
    request.priority = priority;
    const absl::StatusOr<CheckReport> report = engine_->Check(kAlice, std::move(request));
    EXPECT_TRUE(report.ok()) << report.status();
    std::vector<std::string> ids;
    for (const CheckReport::Fit& fit : report->devices) {
      ids.push_back(fit.device + ": " + (fit.after ? fit.after->id.value() : "none"));
    }
    return ids;
  };
  const auto at = [](const char* device, const JobId& id) { return device + (": " + id.value()); };
  const JobId on_0 = submit("other", "gpu0", 0, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  EXPECT_THAT(after(0), ElementsAre(at("gpu0", on_0), "gpu1: none")) << "gpu1 has room";
  const JobId on_1 = submit("other", "gpu1", 0, 2);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  const JobId urgent = submit("copy", "gpu1", 5, 3);
  const JobId patient = submit("copy", "gpu0", -5, 4);
  const JobId usual = submit("copy", "gpu1", 0, 5);
  EXPECT_THAT(after(9), ElementsAre(at("gpu0", on_0), at("gpu1", on_1)));
  EXPECT_THAT(after(5), ElementsAre(at("gpu0", on_0), at("gpu1", urgent)));
  EXPECT_THAT(after(0), ElementsAre(at("gpu0", on_0), at("gpu1", usual)));
  EXPECT_THAT(after(-5), ElementsAre(at("gpu0", patient), at("gpu1", usual)));
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(5));
}

TEST_F(EngineRunTest, ACheckSaysWhenArraysHoldTheMemory) {
  constexpr std::uint64_t kOne = 1 << 20;
  limits_.total_bytes = 10 * kOne;
  bodies_["other"] = Uninterruptible();
  AddDevice({.memory_bytes = 8 * kOne});
  Start();
  ASSERT_TRUE(store_->Create(kBob, {DType::kFloat32, {5 << 18}}, "B", std::nullopt, false).ok());
  fakes_[0]->free_bytes = 3 * kOne;
  JobRequest keeps = Request("other", std::vector<float>(2 << 18));
  keeps.outputs = {{.name = "y", .keep = true, .array_name = "Y", .lease = std::nullopt}};
  Submit(keeps, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const absl::StatusOr<CheckReport> report = engine_->Check(kAlice, Request("copy", std::vector<float>(4 << 18)));
  ASSERT_TRUE(report.ok()) << report.status();
  const CheckReport::Fit& fit = report->devices.at(0);
  EXPECT_EQ(fit.when, CheckReport::Fit::When::kLater);
  EXPECT_FALSE(fit.after) << "the running job's output stays";
  EXPECT_EQ(fit.bytes_of_arrays, 5 * kOne);
  EXPECT_GE(fit.bytes_held, 5 * kOne);
  EXPECT_EQ(report->array_bytes_needed, 4 * kOne) << "y; x comes with the job";
  EXPECT_EQ(report->array_bytes_free, 3 * kOne);
  EXPECT_EQ(report->array_bytes_limit, 10 * kOne);
  gate_.Open();
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
}

// As many as the first element says.
Report CopySome(const Task& task, TaskControl& control) {
  *task.call.outputs[0].actual_size = static_cast<std::int64_t>(*static_cast<const float*>(task.call.inputs[0].data));
  return CopyBody(task, control);
}

TEST_F(EngineRunTest, CuttingToSizeNeedsNoRoomBesideWhatWasPlanned) {
  constexpr std::uint64_t kRest = 3 << 20, kPlanned = 400, kCut = 99 * sizeof(float);
  limits_.total_bytes = kRest + kPlanned;
  bodies_["some"] = CopySome;
  Start();
  absl::StatusOr<std::shared_ptr<HostBuffer>> hog = store_->AllocateBuffer(kRest);
  ASSERT_TRUE(hog.ok()) << hog.status();
  JobRequest request = Request("some", std::vector<float>(kPlanned / sizeof(float), 99.0F));
  Submit(request, 1);
  const auto sent = recorder_->AwaitEnd(1);
  ASSERT_EQ(sent->state, JobState::kCompleted) << sent->error;
  EXPECT_EQ(sent->outputs[0].data->size(), kCut);

  *hog = nullptr;
  hog = store_->AllocateBuffer(kRest - kCut);  // what was sent is still held
  ASSERT_TRUE(hog.ok()) << hog.status();
  request.outputs = {{.name = "y", .keep = true, .array_name = "Y", .lease = std::nullopt}};
  Submit(request, 2);
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted) << recorder_->AwaitEnd(2)->error;
}

TEST_F(EngineRunTest, WhatTheDataDecideIsCutToSize) {
  bodies_["some"] = CopySome;
  bodies_["copy"] = [](const Task& task, TaskControl& control) {
    EXPECT_EQ(task.call.outputs[0].actual_size, nullptr);
    return CopyBody(task, control);
  };
  Start();
  Submit(Request("copy", {1, 2, 3}), 1);
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  std::uint64_t tag = 1;
  const auto end_of = [&](const std::vector<float>& x, bool keep) {
    JobRequest request = Request("some", x);
    if (keep) request.outputs = {{.name = "y", .keep = true, .array_name = "Y", .lease = std::nullopt}};
    Submit(request, ++tag);
    return recorder_->AwaitEnd(tag);
  };
  const std::vector<float> all = {3, 2, 1};
  for (std::size_t size = 0; size <= all.size(); ++size) {
    std::vector<float> x = all;
    x[0] = static_cast<float>(size);
    const auto end = end_of(x, false);
    ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
    EXPECT_EQ(end->outputs[0].signature, (Signature{DType::kFloat32, {static_cast<std::int64_t>(size)}}));
    x.resize(size);
    EXPECT_EQ(ToFloats(*end->outputs[0].data), x);
  }
  ASSERT_EQ(end_of({2, 5, 6}, true)->state, JobState::kCompleted);
  const auto kept = store_->Describe(kAlice, "Y");
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(ToString(kept->signature), "float32 [2]");
  EXPECT_EQ(kept->bytes, 8u);
  for (const float size : {-1.0f, 4.0f}) {
    const auto end = end_of({size, 2, 1}, false);
    EXPECT_EQ(end->error.code(), absl::StatusCode::kInternal) << "more than planned, or nothing was said";
    EXPECT_THAT(std::string(end->error.message()), HasSubstr("of y, which may have 3, there are said to be"));
  }
}

TEST_F(EngineRunTest, TheSameBitsAreRefusedWhereAKernelCannot) {
  bodies_["measure"] = CopyBody;
  Start();
  JobRequest request = Request("measure");
  request.deterministic = true;
  const absl::Status status = Refusal(std::move(request));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Fields(status), ElementsAre("deterministic"));
}

TEST_F(EngineRunTest, TheSameBitsReachTheKernelAndTheReceipt) {
  std::atomic<int> asked{-1};
  bodies_["copy"] = [&](const Task& task, TaskControl& control) {
    asked = task.call.deterministic;
    return CopyBody(task, control);
  };
  Start();
  for (const bool deterministic : {false, true}) {
    JobRequest request = Request("copy");
    request.deterministic = deterministic;
    const std::uint64_t tag = deterministic ? 2 : 1;
    Submit(std::move(request), tag);
    const auto end = recorder_->AwaitEnd(tag);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(asked, deterministic ? 1 : 0);
    EXPECT_EQ(end->receipt->deterministic, deterministic);
  }
}

}  // namespace
}  // namespace hotplate::core::testing
