#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {

std::span<const KernelSuite> KernelSuites() {
  static constexpr KernelSuite kSuites[] = {
      {"batched_matvec", BatchedMatvecCases, VerifyBatchedMatvec},
      {"integrate2d", Integrate2dCases, VerifyIntegrate2d},
      {"mandelbrot", MandelbrotCases, VerifyMandelbrot},
      {"matmul", MatmulCases, VerifyMatmul},
      {"reduce", ReduceCases, VerifyReduce},
      {"selu", SeluCases, VerifySelu},
      {"trig_identity", TrigIdentityCases, VerifyTrigIdentity},
      {"vector_add", VectorAddCases, VerifyVectorAdd},
  };
  return kSuites;
}

}  // namespace hotplate::conformance
