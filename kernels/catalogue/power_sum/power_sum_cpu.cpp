#include "kernels/call/for_type.h"
#include "kernels/catalogue/power_sum/power_sum.h"
#include "kernels/catalogue/power_sum/power_sum_functor.h"
#include "kernels/devices/cpu/elementwise.h"

namespace hotplate::power_sum {

Outcome RunCpu(const Call& call, CpuContext& context) {
  constexpr std::size_t kSerialBelow = 131'072;  // below this many elements one thread is as fast as waking others
  return ForType<float, double, std::int32_t, std::int64_t>("power_sum", call.InputType("x"), [&]<typename T>() {
    return ElementwiseUnary(context, call.Input<T>("x"), call.Output<T>("y"), kSerialBelow, PowerSum<T>());
  });
}

}  // namespace hotplate::power_sum
