// The verifiers, one file a kernel. Each works in higher precision than the kernel and shares no code with a back-end.
#pragma once

#include "tests/conformance/case.h"

namespace hotplate::conformance {

std::vector<Case> ArangeCases();
Verdict VerifyArange(const Executed& executed);

std::vector<Case> ArgsortCases();
Verdict VerifyArgsort(const Executed& executed);

std::vector<Case> BatchedMatvecCases();
Verdict VerifyBatchedMatvec(const Executed& executed);

std::vector<Case> CholeskyCases();
Verdict VerifyCholesky(const Executed& executed);

std::vector<Case> EigCases();
Verdict VerifyEig(const Executed& executed);

std::vector<Case> EighCases();
Verdict VerifyEigh(const Executed& executed);

std::vector<Case> FftCases();
Verdict VerifyFft(const Executed& executed);

std::vector<Case> FlatnonzeroCases();
Verdict VerifyFlatnonzero(const Executed& executed);

std::vector<Case> FullCases();
Verdict VerifyFull(const Executed& executed);

std::vector<Case> GroupbySumCases();
Verdict VerifyGroupbySum(const Executed& executed);

std::vector<Case> HistogramCases();
Verdict VerifyHistogram(const Executed& executed);

std::vector<Case> Integrate2dCases();
Verdict VerifyIntegrate2d(const Executed& executed);

std::vector<Case> KmeansCases();
Verdict VerifyKmeans(const Executed& executed);

std::vector<Case> LinspaceCases();
Verdict VerifyLinspace(const Executed& executed);

std::vector<Case> MandelbrotCases();
Verdict VerifyMandelbrot(const Executed& executed);

std::vector<Case> MatmulCases();
Verdict VerifyMatmul(const Executed& executed);

std::vector<Case> NormCases();
Verdict VerifyNorm(const Executed& executed);

std::vector<Case> PagerankCases();
Verdict VerifyPagerank(const Executed& executed);

std::vector<Case> PowerSumCases();
Verdict VerifyPowerSum(const Executed& executed);

std::vector<Case> QrCases();
Verdict VerifyQr(const Executed& executed);

std::vector<Case> RandomCases();
Verdict VerifyRandom(const Executed& executed);

std::vector<Case> ReduceCases();
Verdict VerifyReduce(const Executed& executed);

std::vector<Case> ScanCases();
Verdict VerifyScan(const Executed& executed);

std::vector<Case> SearchsortedCases();
Verdict VerifySearchsorted(const Executed& executed);

std::vector<Case> SeluCases();
Verdict VerifySelu(const Executed& executed);

std::vector<Case> SlogdetCases();
Verdict VerifySlogdet(const Executed& executed);

std::vector<Case> SolveCases();
Verdict VerifySolve(const Executed& executed);

std::vector<Case> SortCases();
Verdict VerifySort(const Executed& executed);

std::vector<Case> SortByKeyCases();
Verdict VerifySortByKey(const Executed& executed);

std::vector<Case> SpmvCases();
Verdict VerifySpmv(const Executed& executed);

std::vector<Case> SvdCases();
Verdict VerifySvd(const Executed& executed);

std::vector<Case> TransferProbeCases();
Verdict VerifyTransferProbe(const Executed& executed);

std::vector<Case> TrigIdentityCases();
Verdict VerifyTrigIdentity(const Executed& executed);

std::vector<Case> VectorAddCases();
Verdict VerifyVectorAdd(const Executed& executed);

}  // namespace hotplate::conformance
