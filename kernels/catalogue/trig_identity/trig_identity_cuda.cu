#include "kernels/call/for_type.h"
#include "kernels/catalogue/trig_identity/sine_cosine.h"
#include "kernels/catalogue/trig_identity/trig_identity.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

namespace hotplate::trig_identity {
namespace {

// For angles beyond the range of our reductions, NaN and infinities. Not inlined: it takes local memory.
__device__ __noinline__ float OfAnyAngle(float x) {
  SineCosine<float> both;
  sincosf(x, &both.sine, &both.cosine);
  return SumOfSquares(both);
}
__device__ __noinline__ double OfAnyAngle(double x) {
  SineCosine<double> both;
  sincos(x, &both.sine, &both.cosine);
  return SumOfSquares(both);
}

// Elements that are computed together take one way together, so that nothing but one comparison stands between them.
struct Identity {
  template <int kWidth>
  __device__ __forceinline__ void Several(const float (&x)[kWidth], float (&y)[kWidth]) const {
    bool near = true, far = true;  // a NaN is neither
#pragma unroll
    for (int w = 0; w < kWidth; ++w) {
      near = near && fabsf(x[w]) <= kNearFloat;
      far = far && fabsf(x[w]) <= kFarFloat;
    }
    if (near) {
#pragma unroll
      for (int w = 0; w < kWidth; ++w) y[w] = SumOfSquares(Evaluate(ReduceNear(x[w])));
    } else if (far) {
#pragma unroll
      for (int w = 0; w < kWidth; ++w) y[w] = SumOfSquares(Evaluate(ReduceFar(x[w])));
    } else {
#pragma unroll
      for (int w = 0; w < kWidth; ++w) y[w] = OfAnyAngle(x[w]);
    }
  }
  template <int kWidth>
  __device__ __forceinline__ void Several(const double (&x)[kWidth], double (&y)[kWidth]) const {
    bool far = true;
#pragma unroll
    for (int w = 0; w < kWidth; ++w) far = far && fabs(x[w]) <= kFarDouble;
    if (far) {
#pragma unroll
      for (int w = 0; w < kWidth; ++w) y[w] = SumOfSquares(Evaluate(ReduceFar(x[w])));
    } else {
#pragma unroll
      for (int w = 0; w < kWidth; ++w) y[w] = OfAnyAngle(x[w]);
    }
  }
};

// T: the input's type; F: the type of computation and output.
template <typename T, typename F>
Outcome Run(const Call& call, CudaContext& context) {
  return elementwise::LaunchUnary(Identity(), call.Input<T>("x"), call.Output<F>("y"), context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>(
      "trig_identity", call.InputType("x"), [&]<typename T>() { return Run<T, FloatFor<T>>(call, context); });
}

}  // namespace hotplate::trig_identity
