// vector_add that writes where nothing is: in place of the real one in a plug-in made for one test, which shows what a
// daemon does when a kernel destroys its context. Never packed where a daemon would open it by itself.
#include "kernels/catalogue/vector_add/vector_add.h"
#include "kernels/devices/cuda/executor/context.h"

namespace hotplate::vector_add {
namespace {

__global__ void WriteNowhere(volatile int* place) { *place = 1; }

}  // namespace

Outcome RunCuda(const Call&, CudaContext& context) {
  WriteNowhere<<<1, 1, 0, context.stream()>>>(reinterpret_cast<int*>(16));
  return context.LaunchStatus();
}

}  // namespace hotplate::vector_add
