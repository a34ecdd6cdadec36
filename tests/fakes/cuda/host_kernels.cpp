// The kernels of a plug-in without CUDA: the catalogue's, run on the host in the order of the fake driver's
// streams (cuLaunchHostFunc). They fail as the fake's script says.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "kernels/catalogue/integrate2d/integrate2d_functor.h"
#include "kernels/catalogue/mandelbrot/mandelbrot_functor.h"
#include "kernels/catalogue/matmul/products.h"
#include "kernels/catalogue/power_sum/power_sum_functor.h"
#include "kernels/devices/cuda/plugin/kernel_side.h"
#include "kernels/families/broadcast.h"
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
  const Broadcast shape = BroadcastOf(call.InputArray("a"), call.InputArray("b"), call.OutputArray("c"));
  return Launch("vector_add", context, [a, b, c, shape] {
    using Wrapping =
        typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const Broadcast::Place at = shape.Element(i);
      c[i] = static_cast<T>(static_cast<Wrapping>(a[at.a]) + static_cast<Wrapping>(b[at.b]));
    }
  });
}

Outcome VectorAdd(const Call& call, CudaContext& context) {
  switch (call.InputType("a")) {
    case DType::kFloat32:
      return Add<float>(call, context);
    case DType::kFloat64:
      return Add<double>(call, context);
    case DType::kInt32:
      return Add<std::int32_t>(call, context);
    default:
      return Add<std::int64_t>(call, context);
  }
}

// y = f(x), of integers in float64. In chunks, with progress and cancel, where `chunked`.
template <typename In, typename Function>
Outcome Map(const char* kernel, bool chunked, const Call& call, CudaContext& context, const Function& function) {
  using Out = std::conditional_t<std::is_same_v<In, float>, float, double>;
  const auto x = call.Input<In>("x");
  Out* const y = static_cast<Out*>(call.OutputArray("y").data);
  const auto launch = [&](std::uint64_t begin, std::uint64_t end) {
    return Launch(kernel, context, [x, y, begin, end, function] {
      for (std::uint64_t i = begin; i < end; ++i) y[i] = function(static_cast<Out>(x[i]));
    });
  };
  if (!chunked) return launch(0, x.size());
  return context.InChunks({x.size(), x.size() / 64 + 1000}, launch);
}

template <typename Function>
Outcome MapAny(const char* kernel, bool chunked, const Call& call, CudaContext& context, const Function& function) {
  switch (call.InputType("x")) {
    case DType::kFloat32:
      return Map<float>(kernel, chunked, call, context, function);
    case DType::kFloat64:
      return Map<double>(kernel, chunked, call, context, function);
    case DType::kInt32:
      return Map<std::int32_t>(kernel, chunked, call, context, function);
    default:
      return Map<std::int64_t>(kernel, chunked, call, context, function);
  }
}

Outcome TrigIdentity(const Call& call, CudaContext& context) {
  return MapAny("trig_identity", /*chunked=*/true, call, context,
                [](auto x) { return std::cos(x) * std::cos(x) + std::sin(x) * std::sin(x); });
}

Outcome Powers(const Call& call, CudaContext& context) {
  const DType dtype = call.InputType("x");
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return Outcome::Failed("the fake has it of floats only");
  return MapAny("power_sum", /*chunked=*/false, call, context,
                [](auto x) { return power_sum::PowerSum<decltype(x)>()(x); });
}

Outcome Selu(const Call& call, CudaContext& context) {
  const double alpha = call.Float("alpha"), lambda = call.Float("lambda");
  return MapAny("selu", /*chunked=*/false, call, context, [alpha, lambda](auto x) {
    using T = decltype(x);
    return static_cast<T>(lambda) * (x > 0 ? x : static_cast<T>(alpha) * std::expm1(x));
  });
}

// A chunk of sines takes some milliseconds.
Outcome Integrate2d(const Call& call, CudaContext& context) {
  const std::int64_t n = call.Int("n");
  const double x_min = call.Float("x_min"), x_max = call.Float("x_max");
  const double y_min = call.Float("y_min"), y_max = call.Float("y_max");
  double* const value = static_cast<double*>(call.OutputArray("value").data);
  double* const error = static_cast<double*>(call.OutputArray("error").data);
  const Outcome cleared = Launch("integrate2d", context, [value] { *value = 0; });
  if (!cleared.ok()) return cleared;
  const auto points = static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n);
  const Outcome summed = context.InChunks({points, 1 << 18}, [&](std::uint64_t begin, std::uint64_t end) {
    return Launch("integrate2d", context, [=] {
      const double height = (x_max - x_min) / static_cast<double>(n), width = (y_max - y_min) / static_cast<double>(n);
      double sum = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint64_t row = i / static_cast<std::uint64_t>(n), column = i % static_cast<std::uint64_t>(n);
        const double x = x_min + (static_cast<double>(row) + 0.5) * height;
        const double y = y_min + (static_cast<double>(column) + 0.5) * width;
        sum += std::sin(x + y);
      }
      *value += sum * height * width;
    });
  });
  if (!summed.ok()) return summed;
  return Launch("integrate2d", context,
                [=] { *error = std::fabs(*value - integrate2d::ExactIntegral(x_min, x_max, y_min, y_max)); });
}

// A chunk is so many steps, of however many points.
Outcome Mandelbrot(const Call& call, CudaContext& context) {
  struct Orbit {
    std::int64_t point = 0;
    double x = 0, y = 0;
    std::int32_t steps = 0;
  };
  constexpr std::uint64_t kSteps = 1 << 20;
  const std::int64_t resolution = call.Int("resolution"), most = call.Int("max_iterations");
  const double x_min = call.Float("x_min"), x_max = call.Float("x_max");
  const double y_min = call.Float("y_min"), y_max = call.Float("y_max");
  const auto counts = call.Output<std::int32_t>("counts");
  const auto orbit = std::make_shared<Orbit>();
  const std::uint64_t all_steps = counts.size() * static_cast<std::uint64_t>(most);
  return context.InChunks({all_steps, kSteps}, [&](std::uint64_t, std::uint64_t) {
    return Launch("mandelbrot", context, [=] {
      Orbit& at = *orbit;
      for (std::uint64_t left = kSteps; left > 0 && at.point < std::ssize(counts);) {
        const double c_x = mandelbrot::Coordinate(at.point % resolution, resolution, x_min, x_max);
        const double c_y = mandelbrot::Coordinate(at.point / resolution, resolution, y_min, y_max);
        if (at.steps == 0) at.x = c_x, at.y = c_y;
        while (left > 0 && at.steps < most && at.x * at.x + at.y * at.y < 4) {
          const double next = at.x * at.x - at.y * at.y + c_x;
          at.y = 2 * at.x * at.y + c_y;
          at.x = next;
          ++at.steps;
          --left;
        }
        if (at.steps < most && at.x * at.x + at.y * at.y < 4) break;
        counts[static_cast<std::size_t>(at.point)] = at.steps;
        at = {.point = at.point + 1};
      }
    });
  });
}

// By way of its scratch, which is as large as the result.
std::uint64_t MatmulScratch(const Call& call, const CudaTraits&) { return call.OutputArray("c").bytes; }

template <typename T>
Outcome Product(const Call& call, CudaContext& context) {
  const T* const a = call.Input<T>("a").data();
  const T* const b = call.Input<T>("b").data();
  const auto c = call.Output<T>("c");
  const matmul::Products all = matmul::ProductsOf(call);
  auto* const sums = reinterpret_cast<T*>(call.scratch().data());
  return Launch("matmul", context, [=] {
    for (std::size_t out = 0; out < c.size(); ++out) {
      const std::uint64_t row = out / all.n % all.m, column = out % all.n;
      const Broadcast::Place place = all.matrices.Element(out / (all.m * all.n));
      const T* const left = a + place.a * all.m * all.k;
      const T* const right = b + place.b * all.k * all.n;
      double sum = 0;
      for (std::uint64_t k = 0; k < all.k; ++k) {
        sum += static_cast<double>(left[all.transpose_a ? k * all.m + row : row * all.k + k]) *
               static_cast<double>(right[all.transpose_b ? column * all.k + k : k * all.n + column]);
      }
      sums[out] = static_cast<T>(sum);
    }
    std::copy(sums, sums + c.size(), c.begin());
  });
}

Outcome Matmul(const Call& call, CudaContext& context) {
  return call.InputType("a") == DType::kFloat32 ? Product<float>(call, context) : Product<double>(call, context);
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
    {"integrate2d", Integrate2d},    {"mandelbrot", Mandelbrot}, kMatmul, {"power_sum", Powers}, {"selu", Selu},
    {"trig_identity", TrigIdentity}, {"vector_add", VectorAdd},
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
