#include "kernels/call/for_type.h"
#include "kernels/catalogue/linspace/linspace.h"
#include "kernels/catalogue/linspace/linspace_functor.h"
#include "kernels/devices/cpu/elementwise.h"
#include "kernels/devices/cpu/multiversion.h"

namespace hotplate::linspace {
namespace {

// Below this many elements one thread is as fast as waking others.
constexpr std::size_t kSerialBelow = 65'536;

template <typename T>
HOTPLATE_MULTIVERSION void Range(Linspace<T> functor, std::size_t begin, T* __restrict to, std::size_t count) {
  if (functor.step == 0) {
    EachPlace(begin, to, count, [=](double place) { return functor.Rounded(functor.Divided(place)); });
  } else {
    EachPlace(begin, to, count, [=](double place) { return functor.Rounded(functor.Stepped(place)); });
  }
  if (functor.last >= begin && functor.last - begin < count) to[functor.last - begin] = functor(functor.last);
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>("linspace", call.OutputType("out"), [&]<typename T>() {
    const Linspace<T> functor =
        LinspaceOf<T>(call.Float("start"), call.Float("stop"), call.Int("num"), call.Bool("include_stop"));
    Elementwise(context, call.Output<T>("out"), 0, kSerialBelow,
                [=](std::size_t begin, T* to, std::size_t count) { Range(functor, begin, to, count); });
    return Outcome::Ok();
  });
}

}  // namespace hotplate::linspace
