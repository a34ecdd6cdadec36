// One element of selu, for both back-ends.
#pragma once

#include "kernels/call/host_device.h"
#include "kernels/families/elementwise_math.h"

namespace hotplate::selu {

// F, float or double: the type of computation. Both branches are evaluated and added; the one that does not apply is
// -0.0, which changes nothing. With a condition the compiler would move expm1 into a branch and not vectorise it. A NaN
// is not above 0 and passes through expm1 unchanged.
template <typename F>
struct Selu {
  F alpha;
  F lambda;

  HOTPLATE_HOST_DEVICE F operator()(F x) const {
    const F positive = x > F(0) ? x : F(-0.0);
    const F negative = math::Expm1(x > F(0) ? F(-0.0) : x);
    return lambda * (positive + alpha * negative);
  }
};

}  // namespace hotplate::selu
