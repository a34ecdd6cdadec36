#include "kernels/cpu/elementwise.h"
#include "kernels/for_type.h"
#include "kernels/trig_identity/trig_identity.h"
#include "kernels/trig_identity/trig_identity_functor.h"

namespace hotplate::trig_identity {

Outcome RunCpu(const Call& call, CpuContext& context) {
  constexpr std::size_t kSerialBelow = 16'384;  // below this many elements one thread is as fast as waking others
  return ForType<float, double, std::int32_t, std::int64_t>("trig_identity", call.InputType("x"), [&]<typename T>() {
    using F = FloatFor<T>;
    return ElementwiseUnary(context, call.Input<T>("x"), call.Output<F>("y"), kSerialBelow, TrigIdentity<F>());
  });
}

}  // namespace hotplate::trig_identity
