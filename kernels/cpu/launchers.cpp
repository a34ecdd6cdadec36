#include "kernels/batched_matvec/batched_matvec.h"
#include "kernels/cpu/launchers.h"

#include "kernels/integrate2d/integrate2d.h"
#include "kernels/mandelbrot/mandelbrot.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reduce/reduce.h"
#include "kernels/selu/selu.h"
#include "kernels/trig_identity/trig_identity.h"
#include "kernels/vector_add/vector_add.h"

namespace hotplate::cpu {

std::span<const Launcher> Launchers() {
  static constexpr Launcher kLaunchers[] = {
      {"batched_matvec", batched_matvec::RunCpu},
      {"integrate2d", integrate2d::RunCpu, integrate2d::PlanCpu},
      {"mandelbrot", mandelbrot::RunCpu},
      {"matmul", matmul::RunCpu},
      {"reduce", reduce::RunCpu, reduce::PlanCpu},
      {"selu", selu::RunCpu},
      {"trig_identity", trig_identity::RunCpu},
      {"vector_add", vector_add::RunCpu},
  };
  return kLaunchers;
}

}  // namespace hotplate::cpu
