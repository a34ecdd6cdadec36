#include "kernels/cuda/elementwise.cuh"
#include "kernels/trig_identity/trig_identity.h"
#include "kernels/trig_identity/trig_identity_functor.h"

namespace hotplate::trig_identity {
namespace {

// The functor in float32, with the reduction of large angles in float64: CUDA's own sinf and cosf take more than a
// hundred instructions and local memory each for an angle beyond kDirect, as nearly all of 0 … 1e7 are.
struct FloatTrigIdentity {
  static constexpr float kDirect = 105'615.0f;      // CUDA's sinf and cosf reduce cheaply up to here
  static constexpr float kReduced = 1'073'741'824;  // the number of turns times two_pi_high is exact enough up to here
  TrigIdentity<float> functor;

  __device__ float operator()(float x) const {
    const float magnitude = fabsf(x);
    if (magnitude > kDirect && magnitude <= kReduced) {
      constexpr double kTurnsPerRadian = 0.15915494309189535, kTwoPiHigh = 6.283185307179586,
                       kTwoPiLow = 2.4492935982947064e-16;
      const double turns = rint(x * kTurnsPerRadian);
      x = static_cast<float>(fma(-turns, kTwoPiLow, fma(-turns, kTwoPiHigh, static_cast<double>(x))));
    }
    return functor(x);
  }
};

// T: what is read; F: what is computed in and written.
template <typename T, typename F, typename Functor>
Outcome Run(Functor functor, const Call& call, CudaContext& context) {
  return elementwise::LaunchUnary(functor, call.Input<T>("x"), call.Output<F>("y"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  switch (call.InputType("x")) {
    case DType::kFloat32:
      return Run<float, float>(FloatTrigIdentity(), call, context);
    case DType::kFloat64:
      return Run<double, double>(TrigIdentity<double>(), call, context);
    case DType::kInt32:
      return Run<std::int32_t, double>(TrigIdentity<double>(), call, context);
    case DType::kInt64:
      return Run<std::int64_t, double>(TrigIdentity<double>(), call, context);
    default:
      return Outcome::Failed("no code for this dtype");
  }
}

}  // namespace hotplate::trig_identity
