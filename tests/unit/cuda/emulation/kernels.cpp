// The device code of the kernels, as the host's compiler understands it with the launch.h beside this file. matmul's
// is cuBLASLt's and is not here.
#include "kernels/arange/arange_cuda.cu"
#include "kernels/batched_matvec/batched_matvec_cuda.cu"
#include "kernels/full/full_cuda.cu"
#include "kernels/integrate2d/integrate2d_cuda.cu"
#include "kernels/linspace/linspace_cuda.cu"
#include "kernels/mandelbrot/mandelbrot_cuda.cu"
#include "kernels/random/random_cuda.cu"
#include "kernels/reduce/reduce_cuda.cu"
#include "kernels/selu/selu_cuda.cu"
#include "kernels/trig_identity/trig_identity_cuda.cu"
#include "kernels/vector_add/vector_add_cuda.cu"
