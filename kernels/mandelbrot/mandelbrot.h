// mandelbrot: see the summary in mandelbrot.cpp.
#pragma once

#include "kernels/spec.h"

namespace hotplate::mandelbrot {
KernelSpec Spec();
}  // namespace hotplate::mandelbrot
