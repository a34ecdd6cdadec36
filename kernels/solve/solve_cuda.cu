#include "kernels/cuda/dense.h"
#include "kernels/cuda/matrices.cuh"
#include "kernels/for_type.h"
#include "kernels/solve/solve.h"
#include "kernels/solve/solve_cuda.h"
#include "kernels/solve/systems.h"

namespace hotplate::solve {
namespace {

// Scratch: the marks, a copy of one matrix, which becomes its factors, their pivots, one system's right-hand sides by
// columns, if they are more than one, and the library's workspace.
struct Layout {
  std::uint64_t lu = 0, pivots = 0, sides = 0, workspace = 0;
};

Layout LayOut(const Systems& systems, DType dtype) {
  const std::uint64_t element = SizeOf(dtype);
  Layout layout;
  layout.lu = matrices::MarksBytes(systems.stack);
  layout.pivots = layout.lu + RoundUp(systems.stack.elements() * element, kArenaAlignment);
  layout.sides = layout.pivots + RoundUp(systems.stack.rows * sizeof(int), kArenaAlignment);
  layout.workspace = layout.sides + (systems.k > 1 ? RoundUp(systems.side_elements() * element, kArenaAlignment) : 0);
  return layout;
}

// By columns, the library sees a's transpose, which it factors, and solves with the transpose of that.
template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const Systems systems = SystemsOf(call);
  if (systems.empty()) return Outcome::Ok();
  const DType dtype = call.InputType("a");
  const MatrixStack& stack = systems.stack;
  const Layout layout = LayOut(systems, dtype);
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  T* const lu = reinterpret_cast<T*>(memory + layout.lu);
  int* const pivots = reinterpret_cast<int*>(memory + layout.pivots);
  const dense::Workspace workspace{memory + layout.workspace, call.scratch().size() - layout.workspace};
  const int n = static_cast<int>(stack.rows), k = static_cast<int>(systems.k);
  const MatrixStack side{.count = 1, .rows = stack.rows, .columns = systems.k};
  T* x = call.Output<T>("x").data();
  std::uint64_t factored = stack.count;  // which of a's matrices: none
  for (std::uint64_t i = 0; i < systems.count; ++i, x += side.elements()) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const Broadcast::Place place = systems.matrices.Element(i);
    const T* const a = call.Input<T>("a").data() + place.a * stack.elements();
    const T* const b = call.Input<T>("b").data() + place.b * side.elements();
    if (place.a != factored) {
      const Outcome copied = matrices::Copy(stack, 1, a, lu, matrices::Part::kWhole, nullptr, context);
      if (!copied.ok()) return copied;
      const Outcome done = dense::Lu(context, dtype, n, lu, pivots, workspace, marks.infos + place.a);
      if (!done.ok()) return done;
      factored = place.a;
    }
    if (k == 0) continue;
    T* const columns = k == 1 ? x : reinterpret_cast<T*>(memory + layout.sides);
    const Outcome turned = k == 1 ? matrices::Copy(side, 1, b, x, matrices::Part::kWhole, nullptr, context)
                                  : matrices::Transpose(1, stack.rows, systems.k, b, columns, context);
    if (!turned.ok()) return turned;
    const Outcome solved = dense::LuSolveTransposed(context, dtype, n, k, lu, pivots, columns, marks.spare);
    if (!solved.ok()) return solved;
    if (k == 1) continue;
    if (const Outcome o = matrices::Transpose(1, systems.k, stack.rows, columns, x, context); !o.ok()) return o;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const Systems systems = SystemsOf(call);
  if (systems.empty()) return 0;
  const DType dtype = call.InputType("a");
  return LayOut(systems, dtype).workspace + 256 * systems.stack.rows * SizeOf(dtype);
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const Systems systems = SystemsOf(call);
  bytes = 0;
  if (systems.empty()) return Outcome::Ok();
  const DType dtype = call.InputType("a");
  const Outcome asked = dense::LuBytes(context, dtype, static_cast<int>(systems.stack.rows), bytes);
  bytes += LayOut(systems, dtype).workspace;
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("solve", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  const Systems systems = SystemsOf(call);
  if (systems.empty()) return Outcome::Ok();  // nothing was enqueued
  return matrices::Told(systems.stack, context, &MatrixTrouble::Singular);
}

}  // namespace hotplate::solve
