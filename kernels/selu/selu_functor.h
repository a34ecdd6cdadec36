// One element of selu, for both back-ends.
#pragma once

#include "kernels/elementwise_math.h"
#include "kernels/host_device.h"

namespace hotplate::selu {

// F: float or double, what is computed in. A NaN is not above 0 and comes out of expm1 as it went in.
template <typename F>
struct Selu {
  F alpha;
  F lambda;

  HOTPLATE_HOST_DEVICE F operator()(F x) const {
    const F negative = alpha * math::Expm1(x);
    return lambda * (x > F(0) ? x : negative);
  }
};

}  // namespace hotplate::selu
