// The compiler's program, its limits, and what is kept of its work. Scripts stand for the program, but for the tests
// with NVRTC itself, which needs no GPU.
#include "kernels/devices/cuda/compiler/compiler.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "kernels/devices/cuda/compiler/sha256.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

class CompilerTest : public testing::Test {
 protected:
  CompilerTest() {
    std::string name = testing::TempDir() + "hotplate-compiler-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~CompilerTest() override { fs::remove_all(folder_); }

  // A program that runs `script`; each run leaves a byte in Runs().
  CompilerOptions Options(const std::string& script) {
    const std::string program = folder_ + "/program";
    std::ofstream(program) << "#!/bin/sh\nprintf x >> " << folder_ << "/runs\n" << script << "\n";
    chmod(program.c_str(), 0700);
    return {.program = program, .folder = folder_ + "/cache/cubins", .timeout = std::chrono::seconds(30)};
  }
  std::size_t Runs() const {
    std::error_code error;
    const auto size = fs::file_size(folder_ + "/runs", error);
    return error ? 0 : static_cast<std::size_t>(size);
  }
  std::vector<std::string> Cubins() const {
    std::vector<std::string> files;
    for (const auto& file : fs::directory_iterator(folder_ + "/cache/cubins")) files.push_back(file.path().string());
    return files;
  }

  std::string folder_;
};

constexpr char kMakes[] = "printf '\\177ELF '; cat";

TEST_F(CompilerTest, KeepsWhatItMade) {
  CudaCompiler compiler(Options(kMakes));
  const auto first = compiler.Compile("a", 90, "/lib/one");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->was_there);
  EXPECT_EQ(*first->cubin, "\177ELF a");
  EXPECT_TRUE(compiler.Compile("a", 90, "/lib/one")->was_there);
  EXPECT_EQ(Runs(), 1u);
  // Another daemon finds it too; another text, architecture or library is another matter.
  CudaCompiler other(Options(kMakes));
  EXPECT_TRUE(other.Compile("a", 90, "/lib/one")->was_there);
  EXPECT_EQ(Runs(), 1u);
  EXPECT_FALSE(other.Compile("b", 90, "/lib/one")->was_there);
  EXPECT_FALSE(other.Compile("a", 80, "/lib/one")->was_there);
  EXPECT_FALSE(other.Compile("a", 90, "/lib/other")->was_there);
  EXPECT_EQ(Runs(), 4u);
}

TEST_F(CompilerTest, CompilesOnceForAllWhoWait) {
  CudaCompiler compiler(Options(std::string("sleep 0.3; ") + kMakes));
  std::vector<std::jthread> lanes;
  std::atomic<int> compiled{0};
  for (int i = 0; i < 4; ++i) {
    lanes.emplace_back([&] {
      const auto code = compiler.Compile("a", 90, "/lib/one");
      if (code.ok() && !code->was_there) ++compiled;
    });
  }
  lanes.clear();
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(Runs(), 1u);
}

TEST_F(CompilerTest, MakesADamagedFileAnew) {
  ASSERT_TRUE(CudaCompiler(Options(kMakes)).Compile("a", 90, "/lib/one").ok());
  ASSERT_EQ(Cubins().size(), 1u);
  const std::string file = Cubins().front();
  for (const auto& damage : std::vector<std::function<void()>>{
           [&] {
             std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('b');
           },
           [&] { fs::resize_file(file, 40); }, [&] { fs::resize_file(file, 0); }}) {
    damage();
    const std::size_t before = Runs();
    const auto code = CudaCompiler(Options(kMakes)).Compile("a", 90, "/lib/one");
    ASSERT_TRUE(code.ok());
    EXPECT_FALSE(code->was_there);
    EXPECT_EQ(*code->cubin, "\177ELF a");
    EXPECT_EQ(Runs(), before + 1);
    EXPECT_TRUE(CudaCompiler(Options(kMakes)).Compile("a", 90, "/lib/one")->was_there);
  }
}

// Whose code would run with this user's rights.
TEST_F(CompilerTest, UsesNoFolderOrFileThatOthersCanWrite) {
  const CompilerOptions options = Options(kMakes);
  ASSERT_TRUE(CudaCompiler(options).Compile("a", 90, "/lib/one").ok());
  chmod(Cubins().front().c_str(), 0622);
  EXPECT_FALSE(CudaCompiler(options).Compile("a", 90, "/lib/one")->was_there);
  chmod(options.folder.c_str(), 0777);
  CudaCompiler open(options);
  EXPECT_FALSE(open.Compile("a", 90, "/lib/one")->was_there);
  EXPECT_THAT(open.cache().trouble(), HasSubstr("chmod go-w"));
  EXPECT_TRUE(open.Compile("a", 90, "/lib/one")->was_there) << "in memory";
}

TEST_F(CompilerTest, EndsACompilerThatTakesTooLong) {
  CompilerOptions options = Options("sleep 100");
  options.timeout = milliseconds(200);
  CudaCompiler compiler(options);
  const auto begin = std::chrono::steady_clock::now();
  const auto code = compiler.Compile("a", 90, "/lib/one");
  EXPECT_EQ(code.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(compiler.Compile("a", 90, "/lib/one").status().code(), absl::StatusCode::kDeadlineExceeded) << "not kept";
}

TEST_F(CompilerTest, SaysWhatIsWrong) {
  const auto said = [&](const std::string& script) {
    return CudaCompiler(Options(script)).Compile("a", 90, "/lib/one").status();
  };
  EXPECT_EQ(said("echo 'line 1: error' >&2; exit 1").code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(said("echo 'line 1: error' >&2; exit 1").message()), HasSubstr("line 1: error"));
  EXPECT_EQ(said("echo 'no function nvrtcGetCUBIN' >&2; exit 2").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(said("kill -SEGV $$").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(said("echo text").code(), absl::StatusCode::kInternal);
  CompilerOptions nowhere = Options(kMakes);
  nowhere.program = folder_ + "/nothing";
  EXPECT_THAT(std::string(CudaCompiler(nowhere).Compile("a", 90, "/l").status().message()), HasSubstr("install all"));
}

TEST_F(CompilerTest, DropsWhatWasNotUsedForLongest) {
  const std::string folder = folder_ + "/cache/cubins";
  CubinCache all(folder, {.bytes = 1'000'000, .days = 30, .memory_bytes = 0});
  CubinCache cache(folder, {.bytes = 10'000, .days = 30, .memory_bytes = 0});
  const auto code = std::make_shared<const std::string>(4000, 'c');
  for (const char* key : {"a1", "a2", "a3", "a4"}) {
    all.Keep(key, code);
    const timespec times[] = {{0, UTIME_OMIT},
                              {std::time(nullptr) - (key[1] == '1' ? 40 * 24 * 3600 : '9' - key[1]), 0}};
    utimensat(AT_FDCWD, (folder + "/" + key + ".cubin").c_str(), times, 0);
  }
  EXPECT_NE(cache.Find("a2"), nullptr);  // and is now the last used
  cache.CutDown();
  EXPECT_EQ(cache.Find("a1"), nullptr) << "too old";
  EXPECT_NE(cache.Find("a2"), nullptr);
  EXPECT_EQ(cache.Find("a3"), nullptr) << "too many bytes";
  EXPECT_NE(cache.Find("a4"), nullptr);

  CubinCache next(folder, {.bytes = 5'000, .days = 30, .memory_bytes = 0});
  next.Keep("b1", code);  // the first file of a daemon cuts down, too
  EXPECT_NE(next.Find("b1"), nullptr);
  EXPECT_EQ(next.Find("a4"), nullptr);
}

TEST_F(CompilerTest, TakesNoFileOfAnotherKey) {
  const std::string folder = folder_ + "/cache/cubins";
  CubinCache cache(folder, {.memory_bytes = 0});
  cache.Keep("a1", std::make_shared<const std::string>("code"));
  ASSERT_EQ(rename((folder + "/a1.cubin").c_str(), (folder + "/a2.cubin").c_str()), 0);
  EXPECT_EQ(cache.Find("a2"), nullptr);
}

TEST(Sha256, IsTheStandards) {
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

constexpr char kLibrary[] = HOTPLATE_NVRTC_LIBRARY;  // empty: there was none when this was built

class NvrtcTest : public CompilerTest {
 protected:
  void SetUp() override {
    if (*kLibrary == '\0') GTEST_SKIP() << "no libnvrtc of a CUDA Toolkit when this was built";
  }
};

constexpr char kKernel[] = "extern \"C\" __global__ void expression(float* x) { x[threadIdx.x] *= 2; }";

TEST_F(NvrtcTest, MakesCode) {
  CudaCompiler compiler({.program = HOTPLATE_NVRTC_PROGRAM, .folder = folder_ + "/cache/cubins"});
  const auto code = compiler.Compile(kKernel, 90, kLibrary);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_THAT(*code->cubin, testing::StartsWith("\177ELF"));
  EXPECT_TRUE(compiler.Compile(kKernel, 90, kLibrary)->was_there);
  const auto wrong = compiler.Compile("__global__ void f() { nonsense; }", 90, kLibrary);
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("nonsense"));
  EXPECT_EQ(compiler.Compile(kKernel, 17, kLibrary).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(compiler.Compile(kKernel, 90, "/lib/x86_64-linux-gnu/libc.so.6").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(compiler.Compile(kKernel, 90, "/nowhere/libnvrtc.so").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Each further instance takes memory and time.
constexpr char kBomb[] =
    "template <int n, int m> struct F { static constexpr long v = F<n - 1, 2 * m>::v + F<n - 1, 2 * m + 1>::v; };\n"
    "template <int m> struct F<0, m> { static constexpr long v = m; };\n"
    "extern \"C\" __global__ void f(long* x) { *x = F<22, 0>::v; }\n";

TEST_F(NvrtcTest, BoundsTheTime) {
  CudaCompiler compiler({.program = HOTPLATE_NVRTC_PROGRAM, .folder = "", .timeout = milliseconds(1500)});
  EXPECT_EQ(compiler.Compile(kBomb, 90, kLibrary).status().code(), absl::StatusCode::kDeadlineExceeded);
}

// While it waits for its text.
TEST_F(NvrtcTest, GainsNoPrivileges) {
  int text[2];
  ASSERT_EQ(pipe(text), 0);
  const pid_t compiler = fork();
  if (compiler == 0) {
    dup2(text[0], STDIN_FILENO);
    close(text[0]);
    close(text[1]);
    execl(HOTPLATE_NVRTC_PROGRAM, "hotplate-nvrtc", kLibrary, "0", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(text[0]);
  const std::string file = "/proc/" + std::to_string(compiler) + "/status";
  const auto status = [&] {
    std::ifstream stream(file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  for (int tries = 0; tries < 6000 && status().find("NoNewPrivs:\t1") == std::string::npos; ++tries) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_THAT(status(), HasSubstr("NoNewPrivs:\t1"));
  close(text[1]);
  EXPECT_EQ(waitpid(compiler, nullptr, 0), compiler);
}

TEST_F(NvrtcTest, BoundsTheMemory) {
  CudaCompiler compiler({.program = HOTPLATE_NVRTC_PROGRAM, .folder = "", .memory_bytes = std::uint64_t{300} << 20});
  EXPECT_TRUE(compiler.Compile(kKernel, 90, kLibrary).ok()) << "it is enough for an ordinary text";
  const absl::Status status = compiler.Compile(kBomb, 90, kLibrary).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status) || absl::IsInternal(status) || absl::IsFailedPrecondition(status))
      << status;
}
}  // namespace
}  // namespace hotplate
