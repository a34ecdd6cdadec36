// The kernels of a plug-in without CUDA: some of the catalogue's, run on the host in the order of the fake driver's
// streams (cuLaunchHostFunc). They fail as the fake's script says.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include "kernels/cuda/kernel_side.h"
#include "tests/fakes/cuda/fake_cuda.h"

namespace hotplate {

// What a lane has taken of the library that matmul needs, where it is told that it needs one.
struct LaneLibraries {
  int (*version)() = nullptr;
};

namespace {

FakeCuda& TheFake() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return *reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda"))();
}

// What the last launch on this thread met.
thread_local int launch_error = 0;

// Runs `work` on the stream.
Outcome Launch(const char* kernel, CudaContext& context, std::function<void()> work) {
  FakeCuda& fake = TheFake();
  FakeScript script = fake.script();
  if (const auto refused = script.refused_launches.find(kernel); refused != script.refused_launches.end()) {
    launch_error = refused->second;
    script.refused_launches.erase(refused);
    fake.Change(script);
    return context.LaunchStatus();
  }
  if (const auto breaking = script.breaking_kernels.find(kernel); breaking != script.breaking_kernels.end()) {
    work = [&fake, stream = context.stream(), error = breaking->second] { fake.Break(stream, error); };
  }
  if (script.waiting_kernels.contains(kernel)) work = [&fake] { fake.WaitForBreak(); };
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  const auto run = [](void* user) {
    const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(user));
    (*mine)();
  };
  const Outcome launched =
      context.driver().Check(context.driver().cuLaunchHostFunc(context.stream(), run, owned.get()), "launch");
  if (!launched.ok()) return launched;
  static_cast<void>(owned.release());
  if (script.throwing_kernels.contains(kernel)) throw std::bad_alloc();
  return context.LaunchStatus();
}

template <typename T>
Outcome Add(const Call& call, CudaContext& context) {
  const auto a = call.Input<T>("a"), b = call.Input<T>("b");
  const auto c = call.Output<T>("c");
  return Launch("vector_add", context, [a, b, c] {
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[i] + b[i];
  });
}

Outcome VectorAdd(const Call& call, CudaContext& context) {
  switch (call.InputType("a")) {
    case DType::kFloat32:
      return Add<float>(call, context);
    case DType::kFloat64:
      return Add<double>(call, context);
    default:
      return Outcome::Failed("the fake adds float32 and float64 only");
  }
}

// In chunks, with progress and cancel.
Outcome TrigIdentity(const Call& call, CudaContext& context) {
  const auto x = call.Input<float>("x");
  const auto y = call.OutputArray("y");
  float* const out = static_cast<float*>(y.data);
  return context.InChunks({x.size(), 1000}, [&](std::uint64_t begin, std::uint64_t end) {
    return Launch("trig_identity", context, [x, out, begin, end] {
      for (std::uint64_t i = begin; i < end; ++i)
        out[i] = std::cos(x[i]) * std::cos(x[i]) + std::sin(x[i]) * std::sin(x[i]);
    });
  });
}

Outcome Selu(const Call& call, CudaContext& context) {
  const auto x = call.Input<float>("x");
  const auto y = call.Output<float>("y");
  const auto alpha = static_cast<float>(call.Float("alpha")), lambda = static_cast<float>(call.Float("lambda"));
  return Launch("selu", context, [=] {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = lambda * (x[i] > 0 ? x[i] : alpha * std::expm1(x[i]));
  });
}

// By way of its scratch, which is as large as the result.
std::uint64_t MatmulScratch(const Call& call, const CudaTraits&) { return call.OutputArray("c").bytes; }

Outcome Matmul(const Call& call, CudaContext& context) {
  const auto a = call.Input<float>("a"), b = call.Input<float>("b");
  const auto c = call.Output<float>("c");
  const auto rows = call.OutputArray("c").shape[0], columns = call.OutputArray("c").shape[1];
  const auto inner = call.InputArray("a").shape[1];
  auto* const sums = reinterpret_cast<float*>(call.scratch().data());
  return Launch("matmul", context, [=] {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
        sums[i * columns + j] = sum;
      }
    }
    std::copy(sums, sums + c.size(), c.begin());
  });
}

// HOTPLATE_FAKE_LIBRARY: the name of a library that matmul calls, as cuBLASLt is called by the real one.
#ifdef HOTPLATE_FAKE_LIBRARY
Outcome TakeNeeded(void* opened, LaneLibraries& libraries) {
  libraries.version = reinterpret_cast<int (*)()>(dlsym(opened, "hotplate_fake_library"));
  if (libraries.version == nullptr) return Outcome::Invalid("it has no function hotplate_fake_library");
  if (libraries.version() != 13)
    return Outcome::Invalid("it is version " + std::to_string(libraries.version()) + ", and 13 is needed");
  return Outcome::Ok();
}

Outcome MatmulByLibrary(const Call& call, CudaContext& context) {
  if (context.libraries().version == nullptr) return Outcome::Failed("matmul's library was not taken on this lane");
  return Matmul(call, context);
}

constexpr CudaLibrary kNeeded = {HOTPLATE_FAKE_LIBRARY, TakeNeeded};
constexpr CudaLauncher kMatmul = {"matmul", MatmulByLibrary, MatmulScratch, &kNeeded};
#else
constexpr CudaLauncher kMatmul = {"matmul", Matmul, MatmulScratch};
#endif

constexpr CudaLauncher kLaunchers[] = {
    kMatmul,
    {"selu", Selu},
    {"trig_identity", TrigIdentity},
    {"vector_add", VectorAdd},
};

Outcome Probe() { return TheFake().script().no_code ? Outcome::Invalid("") : Outcome::Ok(); }

Outcome LaunchStatus() {
  const int error = launch_error;
  launch_error = 0;
  return TranslateCudaError(error, "launch", "cudaErrorInvalidConfiguration", "invalid configuration argument");
}

}  // namespace

const KernelSide& ThisKernelSide() {
  static const KernelSide side = {
      .launchers = kLaunchers,
      .architectures = "75 80 90",
      .runtime_version = 13000,
      .probe = Probe,
      .launch_status = LaunchStatus,
      .make_libraries = [] { return new LaneLibraries; },
      .close_libraries = [](LaneLibraries* libraries) { delete libraries; },
  };
  return side;
}

}  // namespace hotplate
