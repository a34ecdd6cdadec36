// The device code of the kernels, as the host's compiler understands it with the launch.h beside this file. What they
// leave to cuBLASLt is cublas_lt_by_loops.cpp's here, to cuSOLVER dense_by_lapack.cpp's, to cuFFT
// fourier_by_sums.cpp's.
#include "kernels/arange/arange_cuda.cu"
#include "kernels/batched_matvec/batched_matvec_cuda.cu"
#include "kernels/cholesky/cholesky_cuda.cu"
#include "kernels/eigh/eigh_cuda.cu"
#include "kernels/fft/fft_cuda.cu"
#include "kernels/full/full_cuda.cu"
#include "kernels/groupby_sum/groupby_sum_cuda.cu"
#include "kernels/histogram/histogram_cuda.cu"
#include "kernels/integrate2d/integrate2d_cuda.cu"
#include "kernels/kmeans/kmeans_cuda.cu"
#include "kernels/linspace/linspace_cuda.cu"
#include "kernels/mandelbrot/mandelbrot_cuda.cu"
#include "kernels/matmul/matmul_cuda.cu"
#include "kernels/norm/norm_cuda.cu"
#include "kernels/pagerank/pagerank_cuda.cu"
#include "kernels/power_sum/power_sum_cuda.cu"
#include "kernels/random/random_cuda.cu"
#include "kernels/reduce/reduce_cuda.cu"
#include "kernels/selu/selu_cuda.cu"
#include "kernels/solve/solve_cuda.cu"
#include "kernels/sort/sort_cuda.cu"
#include "kernels/sort_by_key/sort_by_key_cuda.cu"
#include "kernels/spmv/spmv_cuda.cu"
#include "kernels/svd/svd_cuda.cu"
#include "kernels/transfer_probe/transfer_probe_cuda.cu"
#include "kernels/trig_identity/trig_identity_cuda.cu"
#include "kernels/vector_add/vector_add_cuda.cu"

// No launch leaves an error here.
void hotplate::ClearLaunchError() {}
