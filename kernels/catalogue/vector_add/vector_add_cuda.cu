#include "kernels/call/for_type.h"
#include "kernels/catalogue/vector_add/vector_add.h"
#include "kernels/catalogue/vector_add/vector_add_functor.h"
#include "kernels/devices/cuda/code/elementwise.cuh"

namespace hotplate::vector_add {
namespace {

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const std::span<const T> a = call.Input<T>("a"), b = call.Input<T>("b");
  const std::span<T> c = call.Output<T>("c");
  if (c.empty()) return Outcome::Ok();
  const Broadcast shape = BroadcastOf(call.InputArray("a"), call.InputArray("b"), call.OutputArray("c"));
  return shape.IsPlain() ? elementwise::LaunchBinary(Add(), a, b, c, context)
                         : elementwise::LaunchBroadcast(Add(), shape, a.data(), b.data(), c, context);
}

}  // namespace

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("vector_add", call.InputType("a"),
                                                            [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::vector_add
