#include "kernels/call/for_type.h"
#include "kernels/catalogue/selu/selu.h"
#include "kernels/catalogue/selu/selu_functor.h"
#include "kernels/devices/cpu/elementwise.h"

namespace hotplate::selu {

Outcome RunCpu(const Call& call, CpuContext& context) {
  constexpr std::size_t kSerialBelow = 16'384;  // below this many elements one thread is as fast as waking others
  return ForType<float, double, std::int32_t, std::int64_t>("selu", call.InputType("x"), [&]<typename T>() {
    using F = FloatFor<T>;
    const Selu<F> selu{.alpha = static_cast<F>(call.Float("alpha")), .lambda = static_cast<F>(call.Float("lambda"))};
    return ElementwiseUnary(context, call.Input<T>("x"), call.Output<F>("y"), kSerialBelow, selu);
  });
}

}  // namespace hotplate::selu
