// A plug-in whose matmul calls one of CUDA's libraries: opened when matmul first runs; where it is not there, or of no
// use, matmul is refused with the reason and the other kernels run.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <thread>

#include "kernels/devices/device.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cuda/fakes.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::int64_t kSide = 3;
const Signature kSquare{DType::kFloat32, {kSide, kSide}};

// vector_add or matmul of two squares.
struct SquareTask {
  explicit SquareTask(const char* kernel) {
    std::iota(a, a + kSide * kSide, 1.0f);
    for (std::int64_t i = 0; i < kSide; ++i) b[i * kSide + i] = 2;
    inputs[0].name = "a";
    inputs[0].data = a;
    inputs[1].name = "b";
    inputs[1].data = b;
    output.name = "c";
    output.data = c;
    for (hotplate_array* array : {&inputs[0], &inputs[1], &output}) {
      array->dtype = static_cast<int>(DType::kFloat32);
      array->rank = 2;
      array->shape[0] = array->shape[1] = kSide;
      array->bytes = sizeof a;
    }
    task.kernel = kernel;
    params[0].name = "transpose_a";
    params[1].name = "transpose_b";
    task.call.params = params;
    task.call.param_count = std::string(kernel) == "matmul" ? 2 : 0;
    task.call.inputs = inputs;
    task.call.input_count = 2;
    task.call.outputs = &output;
    task.call.output_count = 1;
    task.scratch_bytes = std::string(kernel) == "matmul" ? sizeof c : 0;
  }
  SquareTask(const SquareTask&) = delete;
  SquareTask& operator=(const SquareTask&) = delete;

  // Empty, or how it failed.
  std::string RunOn(Lane& lane) {
    TaskControl control;
    const Report report = lane.Run(task, control);
    EXPECT_TRUE(report.outcome.ok() || report.outcome.code() == HOTPLATE_FAILED);
    return std::string(report.outcome.message());
  }

  float a[kSide * kSide] = {}, b[kSide * kSide] = {}, c[kSide * kSide] = {};
  hotplate_param params[2] = {};  // both false
  hotplate_array inputs[2] = {}, output = {};
  Task task;
};

class NeededLibrariesTest : public ::testing::Test {
 protected:
  NeededLibrariesTest() {
    fs::create_directory(folder_.File("libraries"));
    options_.plugin_folder = folder_.path();
    options_.driver_library = HOTPLATE_FAKES "/driver.so";
    options_.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    setenv("HOTPLATE_NVML_LIBRARY", HOTPLATE_FAKES "/nvml.so", 1);
    setenv("HOTPLATE_CUDA_LIBRARY_PATH", folder_.File("libraries").c_str(), 1);
    FakeCudaOf(dlopen(HOTPLATE_FAKES "/driver.so", RTLD_NOW)).Reset({});
  }
  ~NeededLibrariesTest() override { unsetenv("HOTPLATE_CUDA_LIBRARY_PATH"); }

  std::string LibraryPath() const { return folder_.File("libraries/libcuneeded.so.13"); }
  bool IsOpen() const {
    void* const handle = dlopen(LibraryPath().c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  }
  // With the plug-in of that name, and the library, unless it is empty.
  void Open(const std::string& plugin, const std::string& library = "") {
    fs::copy_file(fs::path(HOTPLATE_FAKES) / (plugin + ".so"), folder_.File("libhotplate_cuda13.so"));
    if (!library.empty()) fs::copy_file(fs::path(HOTPLATE_FAKES) / (library + ".so"), LibraryPath());
    set_ = OpenCudaDevices(options_, BuiltinCatalog());
    ASSERT_THAT(set_.devices, SizeIs(1));
  }
  std::unique_ptr<Lane> OpenLane() {
    auto lane = set_.devices.front()->OpenLane();
    EXPECT_TRUE(lane.ok()) << lane.status();
    return *std::move(lane);
  }
  absl::Status Plan(const std::string& kernel) {
    const KernelSpec& spec = **BuiltinCatalog().Find(kernel);
    const auto call = spec.Bind({}, {{"a", kSquare}, {"b", kSquare}}, HOTPLATE_PRECISION_DEFAULT);
    EXPECT_TRUE(call.ok()) << call.status();
    return set_.devices.front()->Plan(*call).status();
  }
  void ExpectOthersRun(Lane& lane) {
    EXPECT_TRUE(Plan("vector_add").ok()) << Plan("vector_add");
    SquareTask sum("vector_add");
    EXPECT_EQ(sum.RunOn(lane), "");
    EXPECT_THAT(sum.c, ElementsAre(3, 2, 3, 4, 7, 6, 7, 8, 11));
  }

  TemporaryFolder folder_;
  CudaOptions options_;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
  DeviceSet set_;
};

TEST_F(NeededLibrariesTest, WithoutTheLibraryOnlyItsKernelIsRefused) {
  Open("calls_absent");
  const auto why = AllOf(HasSubstr("CUDA's libcuabsent.so.13 is not found; load the site's CUDA module"),
                         HasSubstr("HOTPLATE_CUDA_LIBRARY_PATH"), HasSubstr("(looked in " + folder_.path()));
  EXPECT_THAT(set_.notes, Contains(AllOf(HasSubstr("no CUDA device runs matmul: "), why)));
  EXPECT_EQ(Plan("matmul").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Plan("matmul").message()), AllOf(HasSubstr("gpu0 cannot run matmul: "), why));
  const auto lane = OpenLane();
  ExpectOthersRun(*lane);
  EXPECT_THAT(SquareTask("matmul").RunOn(*lane), HasSubstr("CUDA's libcuabsent.so.13 is not found"));
  EXPECT_THAT(lines_, IsEmpty()) << "the note has said so already";
}

// As where the site's profile loads CUDA 12, and the driver is for CUDA 13.
TEST_F(NeededLibrariesTest, ThePlugInWhoseLibrariesAreThereIsTaken) {
  fs::copy_file(HOTPLATE_FAKES "/calls_needed.so", folder_.File("libhotplate_cuda12.so"));
  Open("calls_absent", "needed");
  EXPECT_THAT(set_.sources, Contains(HasSubstr("libhotplate_cuda12.so with a driver for CUDA 13")));
  EXPECT_THAT(set_.notes, Contains(AllOf(HasSubstr("libhotplate_cuda13.so is not used: CUDA's libraries that its"),
                                         HasSubstr("and those of libhotplate_cuda12.so are"))));
  EXPECT_TRUE(Plan("matmul").ok()) << Plan("matmul");
}

TEST_F(NeededLibrariesTest, OfPlugInsWithoutTheirLibrariesTheNewestIsTaken) {
  fs::copy_file(HOTPLATE_FAKES "/calls_absent.so", folder_.File("libhotplate_cuda12.so"));
  Open("calls_absent");
  EXPECT_THAT(set_.sources, Contains(HasSubstr("libhotplate_cuda13.so with a driver for CUDA 13")));
  EXPECT_THAT(set_.notes, Not(Contains(HasSubstr("is not used"))));
}

TEST_F(NeededLibrariesTest, SaysOnceItIsOpenedThatAFileIsNoLibrary) {
  std::ofstream(folder_.File("libraries/libcuabsent.so.13")) << std::string(5000, 'x');
  Open("calls_absent");
  EXPECT_TRUE(Plan("matmul").ok()) << Plan("matmul");
  const auto lane = OpenLane();
  const auto why = HasSubstr(folder_.File("libraries") + "/libcuabsent.so.13: invalid ELF header");
  EXPECT_THAT(SquareTask("matmul").RunOn(*lane), why);
  EXPECT_THAT(std::string(Plan("matmul").message()), AllOf(HasSubstr("gpu0 cannot run matmul"), why));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("no CUDA device runs matmul: "), why)));
  ExpectOthersRun(*lane);
}

TEST_F(NeededLibrariesTest, OpensItWhenItsKernelFirstRuns) {
  Open("calls_needed", "needed");
  EXPECT_THAT(set_.notes, Not(Contains(HasSubstr("matmul"))));
  EXPECT_THAT(set_.sources, Contains("CUDA: libcuneeded.so.13 for matmul from " + LibraryPath()));
  EXPECT_TRUE(Plan("matmul").ok()) << Plan("matmul");
  const auto first = OpenLane(), second = OpenLane();
  ExpectOthersRun(*first);
  EXPECT_FALSE(IsOpen());
  for (Lane* lane : {first.get(), second.get(), first.get()}) {  // the fake fails on a lane that has not taken it
    SquareTask product("matmul");
    EXPECT_EQ(product.RunOn(*lane), "");
    EXPECT_THAT(product.c, ElementsAre(2, 4, 6, 8, 10, 12, 14, 16, 18));
  }
  EXPECT_TRUE(IsOpen());
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(NeededLibrariesTest, OpensItForSeveralLanesAtOnce) {
  options_.lanes = 4;
  Open("calls_needed", "needed");
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  for (std::string& failure : failures) {
    threads.emplace_back([this, &failure] { failure = SquareTask("matmul").RunOn(*OpenLane()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(failures, ElementsAre("", "", "", ""));
}

TEST_F(NeededLibrariesTest, RefusesAnotherVersionOnceItIsKnown) {
  Open("calls_needed", "needed_old");
  EXPECT_TRUE(Plan("matmul").ok()) << "its file says nothing of it";
  const auto first = OpenLane(), second = OpenLane();
  const auto why = HasSubstr("CUDA's libcuneeded.so.13 (" + LibraryPath() + ") cannot be used: it is version 12");
  EXPECT_THAT(SquareTask("matmul").RunOn(*first), why);
  EXPECT_EQ(Plan("matmul").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Plan("matmul").message()), AllOf(HasSubstr("gpu0 cannot run matmul"), why));
  EXPECT_THAT(SquareTask("matmul").RunOn(*second), why);
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("no CUDA device runs matmul: "), why)));
  ExpectOthersRun(*first);
}

TEST_F(NeededLibrariesTest, NamesAFunctionThatIsMissing) {
  Open("calls_needed", "needed_empty");
  EXPECT_THAT(SquareTask("matmul").RunOn(*OpenLane()), HasSubstr("it has no function hotplate_fake_library"));
  EXPECT_THAT(std::string(Plan("matmul").message()), HasSubstr("it has no function hotplate_fake_library"));
}

}  // namespace
}  // namespace hotplate
