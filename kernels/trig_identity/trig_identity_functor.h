// One element of trig_identity, for both back-ends.
#pragma once

#include "kernels/elementwise_math.h"
#include "kernels/host_device.h"

namespace hotplate::trig_identity {

// Really evaluates both: that is the point of the exercise. F: float or double, what is computed in.
template <typename F>
struct TrigIdentity {
  HOTPLATE_HOST_DEVICE F operator()(F x) const {
    const F cosine = math::Cos(x);
    const F sine = math::Sin(x);
    return cosine * cosine + sine * sine;
  }
};

}  // namespace hotplate::trig_identity
