// trig_identity: see the summary in trig_identity.cpp.
#pragma once

#include "kernels/spec.h"

namespace hotplate::trig_identity {
KernelSpec Spec();
}  // namespace hotplate::trig_identity
