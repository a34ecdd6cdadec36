#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {

std::span<const KernelSuite> KernelSuites() {
  static constexpr KernelSuite kSuites[] = {
      {"arange", ArangeCases, VerifyArange},
      {"argsort", ArgsortCases, VerifyArgsort},
      {"batched_matvec", BatchedMatvecCases, VerifyBatchedMatvec},
      {"cholesky", CholeskyCases, VerifyCholesky},
      {"eig", EigCases, VerifyEig},
      {"eigh", EighCases, VerifyEigh},
      {"fft", FftCases, VerifyFft},
      {"flatnonzero", FlatnonzeroCases, VerifyFlatnonzero},
      {"full", FullCases, VerifyFull},
      {"groupby_sum", GroupbySumCases, VerifyGroupbySum},
      {"histogram", HistogramCases, VerifyHistogram},
      {"integrate2d", Integrate2dCases, VerifyIntegrate2d},
      {"kmeans", KmeansCases, VerifyKmeans},
      {"linspace", LinspaceCases, VerifyLinspace},
      {"mandelbrot", MandelbrotCases, VerifyMandelbrot},
      {"matmul", MatmulCases, VerifyMatmul},
      {"norm", NormCases, VerifyNorm},
      {"pagerank", PagerankCases, VerifyPagerank},
      {"power_sum", PowerSumCases, VerifyPowerSum},
      {"qr", QrCases, VerifyQr},
      {"random", RandomCases, VerifyRandom},
      {"reduce", ReduceCases, VerifyReduce},
      {"scan", ScanCases, VerifyScan},
      {"searchsorted", SearchsortedCases, VerifySearchsorted},
      {"selu", SeluCases, VerifySelu},
      {"slogdet", SlogdetCases, VerifySlogdet},
      {"solve", SolveCases, VerifySolve},
      {"sort", SortCases, VerifySort},
      {"sort_by_key", SortByKeyCases, VerifySortByKey},
      {"spmv", SpmvCases, VerifySpmv},
      {"svd", SvdCases, VerifySvd},
      {"transfer_probe", TransferProbeCases, VerifyTransferProbe},
      {"trig_identity", TrigIdentityCases, VerifyTrigIdentity},
      {"vector_add", VectorAddCases, VerifyVectorAdd},
  };
  return kSuites;
}

}  // namespace hotplate::conformance
