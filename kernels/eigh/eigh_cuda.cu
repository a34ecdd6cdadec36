#include "kernels/cuda/dense.h"
#include "kernels/cuda/matrices.cuh"
#include "kernels/eigh/eigh.h"
#include "kernels/eigh/eigh_cuda.h"
#include "kernels/for_type.h"

namespace hotplate::eigh {
namespace {

bool WithVectors(const Call& call) { return call.Choice("compute") == "vectors"; }

// Scratch: the marks, a copy of one matrix, and the library's workspace.
std::uint64_t OwnBytes(const MatrixStack& stack, DType dtype) {
  return matrices::MarksBytes(stack) + RoundUp(stack.elements() * SizeOf(dtype), kArenaAlignment);
}

// By columns, the library sees each matrix transposed: a's lower triangle is its upper one, and the eigenvectors lie in
// rows until they are transposed.
template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return Outcome::Ok();
  const DType dtype = call.InputType("a");
  const bool vectors = WithVectors(call);
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  T* const copy = reinterpret_cast<T*>(memory + matrices::MarksBytes(stack));
  const std::uint64_t own = OwnBytes(stack, dtype);
  const dense::Workspace workspace{memory + own, call.scratch().size() - own};
  const T* a = call.Input<T>("a").data();
  T* w = call.Output<T>("w").data();
  T* v = call.Output<T>("v").data();
  for (std::uint64_t i = 0; i < stack.count; ++i, a += stack.elements(), w += stack.rows) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const Outcome copied = matrices::Copy(stack, 1, a, copy, matrices::Part::kLower, marks.flags + i, context);
    if (!copied.ok()) return copied;
    const Outcome done =
        dense::Eigh(context, dtype, vectors, static_cast<int>(stack.rows), copy, w, workspace, marks.infos + i);
    if (!done.ok()) return done;
    if (!vectors) continue;
    const Outcome turned = matrices::Transpose(1, stack.rows, stack.rows, copy, v + i * stack.elements(), context);
    if (!turned.ok()) return turned;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return 0;
  const DType dtype = call.InputType("a");
  return OwnBytes(stack, dtype) + (2 * stack.elements() + 256 * stack.rows) * SizeOf(dtype);
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const DType dtype = call.InputType("a");
  bytes = 0;
  if (stack.empty()) return Outcome::Ok();
  const Outcome asked = dense::EighBytes(context, dtype, WithVectors(call), static_cast<int>(stack.rows), bytes);
  bytes += OwnBytes(stack, dtype);
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("eigh", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  return matrices::Told(StackOf(call.InputArray("a")), context, [&](const MatrixTrouble& trouble, std::int64_t info) {
    return trouble.NoConvergence(info, MatrixTrouble::kLeft, call.InputType("a"));
  });
}

}  // namespace hotplate::eigh
