// The functions of LAPACK used here, from OpenBLAS: Fortran's, so matrices lie by columns, arguments are pointers, and
// the lengths of texts follow at the end. Each returns info. Call them with an OpenBlasUse.
#pragma once

#include <complex>
#include <cstddef>

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info, std::size_t);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void sgelqf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work, const int* lwork,
             int* info);
void dgelqf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void sorglq_(const int* m, const int* n, const int* k, float* a, const int* lda, const float* tau, float* work,
             const int* lwork, int* info);
void dorglq_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work,
             const int* lwork, int* info);
void ssyevd_(const char* job, const char* uplo, const int* n, float* a, const int* lda, float* w, float* work,
             const int* lwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t);
void dsyevd_(const char* job, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t);
void sgesdd_(const char* job, const int* m, const int* n, float* a, const int* lda, float* s, float* u, const int* ldu,
             float* vt, const int* ldvt, float* work, const int* lwork, int* iwork, int* info, std::size_t);
void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info,
             std::size_t);
void sgeev_(const char* left, const char* right, const int* n, float* a, const int* lda, float* wr, float* wi,
            float* vl, const int* ldvl, float* vr, const int* ldvr, float* work, const int* lwork, int* info,
            std::size_t, std::size_t);
void dgeev_(const char* left, const char* right, const int* n, double* a, const int* lda, double* wr, double* wi,
            double* vl, const int* ldvl, double* vr, const int* ldvr, double* work, const int* lwork, int* info,
            std::size_t, std::size_t);
void cgeev_(const char* left, const char* right, const int* n, std::complex<float>* a, const int* lda,
            std::complex<float>* w, std::complex<float>* vl, const int* ldvl, std::complex<float>* vr, const int* ldvr,
            std::complex<float>* work, const int* lwork, float* rwork, int* info, std::size_t, std::size_t);
void zgeev_(const char* left, const char* right, const int* n, std::complex<double>* a, const int* lda,
            std::complex<double>* w, std::complex<double>* vl, const int* ldvl, std::complex<double>* vr,
            const int* ldvr, std::complex<double>* work, const int* lwork, double* rwork, int* info, std::size_t,
            std::size_t);
}

namespace hotplate::lapack {

inline int Potrf(char uplo, int n, float* a) {
  int info = 0;
  spotrf_(&uplo, &n, a, &n, &info, 1);
  return info;
}
inline int Potrf(char uplo, int n, double* a) {
  int info = 0;
  dpotrf_(&uplo, &n, a, &n, &info, 1);
  return info;
}

inline int Getrf(int n, float* a, int* pivots) {
  int info = 0;
  sgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}
inline int Getrf(int n, double* a, int* pivots) {
  int info = 0;
  dgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}

// lwork -1: the size of the workspace goes to *work, and nothing else is done.
inline int Gelqf(int m, int n, float* a, float* tau, float* work, int lwork) {
  int info = 0;
  sgelqf_(&m, &n, a, &m, tau, work, &lwork, &info);
  return info;
}
inline int Gelqf(int m, int n, double* a, double* tau, double* work, int lwork) {
  int info = 0;
  dgelqf_(&m, &n, a, &m, tau, work, &lwork, &info);
  return info;
}
inline int Orglq(int m, int n, int k, float* a, const float* tau, float* work, int lwork) {
  int info = 0;
  sorglq_(&m, &n, &k, a, &m, tau, work, &lwork, &info);
  return info;
}
inline int Orglq(int m, int n, int k, double* a, const double* tau, double* work, int lwork) {
  int info = 0;
  dorglq_(&m, &n, &k, a, &m, tau, work, &lwork, &info);
  return info;
}

// lwork and liwork -1: the sizes of the workspaces go to *work and *iwork, and nothing else is done.
inline int Syevd(char job, char uplo, int n, float* a, float* w, float* work, int lwork, int* iwork, int liwork) {
  int info = 0;
  ssyevd_(&job, &uplo, &n, a, &n, w, work, &lwork, iwork, &liwork, &info, 1, 1);
  return info;
}
inline int Syevd(char job, char uplo, int n, double* a, double* w, double* work, int lwork, int* iwork, int liwork) {
  int info = 0;
  dsyevd_(&job, &uplo, &n, a, &n, w, work, &lwork, iwork, &liwork, &info, 1, 1);
  return info;
}

// lwork -1: the size of the workspace goes to *work, and nothing else is done.
inline int Gesdd(char job, int m, int n, float* a, float* s, float* u, int ldu, float* vt, int ldvt, float* work,
                 int lwork, int* iwork) {
  int info = 0;
  sgesdd_(&job, &m, &n, a, &m, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, &info, 1);
  return info;
}
inline int Gesdd(char job, int m, int n, double* a, double* s, double* u, int ldu, double* vt, int ldvt, double* work,
                 int lwork, int* iwork) {
  int info = 0;
  dgesdd_(&job, &m, &n, a, &m, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, &info, 1);
  return info;
}

// Eigenvalues, and with job 'V' the right eigenvectors. lwork -1: the size of the workspace goes to *work, and nothing
// else is done.
inline int Geev(char job, int n, float* a, float* wr, float* wi, float* vr, float* work, int lwork) {
  int info = 0;
  sgeev_("N", &job, &n, a, &n, wr, wi, nullptr, &n, vr, &n, work, &lwork, &info, 1, 1);
  return info;
}
inline int Geev(char job, int n, double* a, double* wr, double* wi, double* vr, double* work, int lwork) {
  int info = 0;
  dgeev_("N", &job, &n, a, &n, wr, wi, nullptr, &n, vr, &n, work, &lwork, &info, 1, 1);
  return info;
}
// rwork: 2 n numbers.
inline int Geev(char job, int n, std::complex<float>* a, std::complex<float>* w, std::complex<float>* vr,
                std::complex<float>* work, int lwork, float* rwork) {
  int info = 0;
  cgeev_("N", &job, &n, a, &n, w, nullptr, &n, vr, &n, work, &lwork, rwork, &info, 1, 1);
  return info;
}
inline int Geev(char job, int n, std::complex<double>* a, std::complex<double>* w, std::complex<double>* vr,
                std::complex<double>* work, int lwork, double* rwork) {
  int info = 0;
  zgeev_("N", &job, &n, a, &n, w, nullptr, &n, vr, &n, work, &lwork, rwork, &info, 1, 1);
  return info;
}

}  // namespace hotplate::lapack
