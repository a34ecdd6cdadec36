#include "kernels/cholesky/cholesky.h"
#include "kernels/cholesky/cholesky_cuda.h"
#include "kernels/cuda/dense.h"
#include "kernels/cuda/matrices.cuh"
#include "kernels/for_type.h"

namespace hotplate::cholesky {
namespace {

// By columns, the library sees each matrix transposed: a's lower triangle is its upper one, and so is l's. Scratch: the
// marks, then the library's workspace.
template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return Outcome::Ok();
  const DType dtype = call.InputType("a");
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  T* const l = call.Output<T>("l").data();
  const Outcome copied =
      matrices::Copy(stack, stack.count, call.Input<T>("a").data(), l, matrices::Part::kLower, marks.flags, context);
  if (!copied.ok()) return copied;
  const std::uint64_t own = matrices::MarksBytes(stack);
  const dense::Workspace workspace{memory + own, call.scratch().size() - own};
  for (std::uint64_t i = 0; i < stack.count; ++i) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const Outcome factored = dense::Cholesky(context, dtype, static_cast<int>(stack.rows), l + i * stack.elements(),
                                             workspace, marks.infos + i);
    if (!factored.ok()) return factored;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return 0;
  return matrices::MarksBytes(stack) + 256 * stack.rows * SizeOf(call.InputType("a"));
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  bytes = 0;
  if (stack.empty()) return Outcome::Ok();
  const Outcome asked = dense::CholeskyBytes(context, call.InputType("a"), static_cast<int>(stack.rows), bytes);
  bytes += matrices::MarksBytes(stack);
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("cholesky", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  return matrices::Told(StackOf(call.InputArray("a")), context, &MatrixTrouble::NotPositiveDefinite);
}

}  // namespace hotplate::cholesky
