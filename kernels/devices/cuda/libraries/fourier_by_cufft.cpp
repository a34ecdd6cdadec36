// fourier.h by cuFFT.
#include <cstdio>

#include "kernels/devices/cuda/libraries/fourier.h"
#include "kernels/devices/cuda/plugin/lane_libraries.h"

namespace hotplate::fourier {
namespace {

Outcome FromCufft(cufftResult status, const char* what) {
  if (status == CUFFT_SUCCESS) return Outcome::Ok();
  ClearLaunchError();
  char text[160];
  std::snprintf(text, sizeof text, "cuFFT: %s: status %d", what, static_cast<int>(status));
  return status == CUFFT_ALLOC_FAILED ? Outcome::OutOfMemory(text) : Outcome::Failed(text);
}

cufftType TypeOf(const Batch& batch) {
  switch (batch.kind) {
    case Batch::Kind::kRealToHalf:
      return batch.in_double ? CUFFT_D2Z : CUFFT_R2C;
    case Batch::Kind::kHalfToReal:
      return batch.in_double ? CUFFT_Z2D : CUFFT_C2R;
    default:
      return batch.in_double ? CUFFT_Z2Z : CUFFT_C2C;
  }
}

// The lane's, made for the first of its calls. Nothing of the lane's is in flight when plans are dropped: a task asks
// for its workspace before it enqueues anything.
Outcome PlanFor(CudaContext& context, const Batch& batch, const CufftPlan*& plan) {
  LaneLibraries& libraries = context.libraries();
  const Cufft& cufft = libraries.cufft;
  const auto known = libraries.transforms.find(batch);
  if (known != libraries.transforms.end()) {
    plan = &known->second;
    return Outcome::Ok();
  }
  cufftHandle handle = 0;
  if (const Outcome o = FromCufft(cufft.cufftCreate(&handle), "handle"); !o.ok()) return o;
  CufftPlan made(handle, cufft.cufftDestroy);
  if (const Outcome o = FromCufft(cufft.cufftSetAutoAllocation(handle, 0), "workspace"); !o.ok()) return o;
  long long sizes[] = {static_cast<long long>(batch.rows), static_cast<long long>(batch.columns)};
  const int rank = batch.rows == 1 ? 1 : 2;
  const cufftResult status =
      cufft.cufftMakePlanMany64(handle, rank, sizes + 2 - rank, nullptr, 1, 0, nullptr, 1, 0, TypeOf(batch),
                                static_cast<long long>(batch.count), &made.workspace_bytes);
  if (status != CUFFT_SUCCESS) {
    char what[100];
    std::snprintf(what, sizeof what, "plan for %llu transforms of %llu by %llu points",
                  static_cast<unsigned long long>(batch.count), static_cast<unsigned long long>(batch.rows),
                  static_cast<unsigned long long>(batch.columns));
    return FromCufft(status, what);
  }
  if (const Outcome o = FromCufft(cufft.cufftSetStream(handle, context.stream()), "stream"); !o.ok()) return o;
  if (libraries.transforms.size() >= LaneLibraries::kMostTransforms) libraries.transforms.clear();
  plan = &libraries.transforms.emplace(batch, std::move(made)).first->second;
  return Outcome::Ok();
}

cufftResult Execute(const Cufft& cufft, cufftHandle plan, cufftType type, int direction, void* from, void* to) {
  switch (type) {
    case CUFFT_R2C:
      return cufft.cufftExecR2C(plan, static_cast<cufftReal*>(from), static_cast<cufftComplex*>(to));
    case CUFFT_D2Z:
      return cufft.cufftExecD2Z(plan, static_cast<cufftDoubleReal*>(from), static_cast<cufftDoubleComplex*>(to));
    case CUFFT_C2R:
      return cufft.cufftExecC2R(plan, static_cast<cufftComplex*>(from), static_cast<cufftReal*>(to));
    case CUFFT_Z2D:
      return cufft.cufftExecZ2D(plan, static_cast<cufftDoubleComplex*>(from), static_cast<cufftDoubleReal*>(to));
    case CUFFT_Z2Z:
      return cufft.cufftExecZ2Z(plan, static_cast<cufftDoubleComplex*>(from), static_cast<cufftDoubleComplex*>(to),
                                direction);
    default:
      return cufft.cufftExecC2C(plan, static_cast<cufftComplex*>(from), static_cast<cufftComplex*>(to), direction);
  }
}

}  // namespace

Outcome WorkspaceBytes(CudaContext& context, const Batch& batch, std::uint64_t& bytes) {
  const CufftPlan* plan = nullptr;
  const Outcome planned = PlanFor(context, batch, plan);
  bytes = planned.ok() ? plan->workspace_bytes : 0;
  return planned;
}

Outcome Run(CudaContext& context, const Batch& batch, bool inverse, void* from, void* to, void* workspace) {
  const CufftPlan* plan = nullptr;
  if (const Outcome o = PlanFor(context, batch, plan); !o.ok()) return o;
  const Cufft& cufft = context.libraries().cufft;
  const cufftHandle handle = plan->handle();
  if (const Outcome o = FromCufft(cufft.cufftSetWorkArea(handle, workspace), "workspace"); !o.ok()) return o;
  const cufftResult status = Execute(cufft, handle, TypeOf(batch), inverse ? CUFFT_INVERSE : CUFFT_FORWARD, from, to);
  if (const Outcome o = FromCufft(status, "transform"); !o.ok()) return o;
  return context.LaunchStatus();
}

}  // namespace hotplate::fourier
