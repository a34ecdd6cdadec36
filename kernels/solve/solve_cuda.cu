#include "kernels/cuda/dense.h"
#include "kernels/cuda/matrices.cuh"
#include "kernels/for_type.h"
#include "kernels/solve/solve.h"
#include "kernels/solve/solve_cuda.h"

namespace hotplate::solve {
namespace {

// Scratch: the marks, a copy of one matrix, which becomes its factors, their pivots, one system's right-hand sides by
// columns, if they are more than one, and the library's workspace.
struct Layout {
  std::uint64_t lu = 0, pivots = 0, sides = 0, workspace = 0;
};

struct System {
  MatrixStack stack;  // of a
  std::uint64_t k = 0;
  DType dtype = DType::kFloat32;

  Layout LayOut() const {
    const std::uint64_t element = SizeOf(dtype);
    Layout layout;
    layout.lu = matrices::MarksBytes(stack);
    layout.pivots = layout.lu + RoundUp(stack.elements() * element, kArenaAlignment);
    layout.sides = layout.pivots + RoundUp(stack.rows * sizeof(int), kArenaAlignment);
    layout.workspace = layout.sides + (k > 1 ? RoundUp(stack.rows * k * element, kArenaAlignment) : 0);
    return layout;
  }
};

System SystemOf(const Call& call) {
  const hotplate_array& b = call.InputArray("b");
  return {.stack = StackOf(call.InputArray("a")),
          .k = b.rank == 1 ? 1 : static_cast<std::uint64_t>(b.shape[b.rank - 1]),
          .dtype = call.InputType("a")};
}

// By columns, the library sees a's transpose, which it factors, and solves with the transpose of that.
template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  const System system = SystemOf(call);
  if (system.stack.empty()) return Outcome::Ok();
  const MatrixStack& stack = system.stack;
  const Layout layout = system.LayOut();
  std::byte* const memory = call.scratch().data();
  matrices::Marks marks;
  if (const Outcome o = matrices::ClearMarks(stack, memory, context, marks); !o.ok()) return o;
  T* const lu = reinterpret_cast<T*>(memory + layout.lu);
  int* const pivots = reinterpret_cast<int*>(memory + layout.pivots);
  const dense::Workspace workspace{memory + layout.workspace, call.scratch().size() - layout.workspace};
  const int n = static_cast<int>(stack.rows), k = static_cast<int>(system.k);
  const MatrixStack side{.count = 1, .rows = stack.rows, .columns = system.k};
  const T* a = call.Input<T>("a").data();
  const T* b = call.Input<T>("b").data();
  T* x = call.Output<T>("x").data();
  for (std::uint64_t i = 0; i < stack.count; ++i, a += stack.elements(), b += side.elements(), x += side.elements()) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const Outcome copied = matrices::Copy(stack, 1, a, lu, matrices::Part::kWhole, nullptr, context);
    if (!copied.ok()) return copied;
    const Outcome factored = dense::Lu(context, system.dtype, n, lu, pivots, workspace, marks.infos + i);
    if (!factored.ok()) return factored;
    if (k == 0) continue;
    T* const columns = k == 1 ? x : reinterpret_cast<T*>(memory + layout.sides);
    const Outcome turned = k == 1 ? matrices::Copy(side, 1, b, x, matrices::Part::kWhole, nullptr, context)
                                  : matrices::Transpose(1, stack.rows, system.k, b, columns, context);
    if (!turned.ok()) return turned;
    const Outcome solved = dense::LuSolveTransposed(context, system.dtype, n, k, lu, pivots, columns, marks.spare);
    if (!solved.ok()) return solved;
    if (k == 1) continue;
    if (const Outcome o = matrices::Transpose(1, system.k, stack.rows, columns, x, context); !o.ok()) return o;
  }
  return matrices::Tell(stack, marks, context);
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const System system = SystemOf(call);
  if (system.stack.empty()) return 0;
  return system.LayOut().workspace + 256 * system.stack.rows * SizeOf(system.dtype);
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const System system = SystemOf(call);
  bytes = 0;
  if (system.stack.empty()) return Outcome::Ok();
  const Outcome asked = dense::LuBytes(context, system.dtype, static_cast<int>(system.stack.rows), bytes);
  bytes += system.LayOut().workspace;
  return asked;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("solve", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

Outcome FinishCuda(const Call& call, CudaContext& context) {
  return matrices::Told(StackOf(call.InputArray("a")), context, &MatrixTrouble::Singular);
}

}  // namespace hotplate::solve
