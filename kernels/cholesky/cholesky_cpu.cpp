#include "kernels/cholesky/cholesky.h"
#include "kernels/cpu/lapack.h"
#include "kernels/cpu/matrix_copy.h"
#include "kernels/cpu/openblas_turn.h"
#include "kernels/for_type.h"
#include "kernels/matrix_stack.h"

namespace hotplate::cholesky {
namespace {

// Smaller matrices run on one thread.
constexpr std::uint64_t kSerialBelow = 96;

// By columns, LAPACK sees each matrix transposed: a's lower triangle is its upper one, and so is l's.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const auto n = static_cast<std::size_t>(stack.rows);
  const T* a = call.Input<T>("a").data();
  T* l = call.Output<T>("l").data();
  if (stack.empty()) return Outcome::Ok();
  for (std::uint64_t i = 0; i < stack.count; ++i, a += n * n, l += n * n) {
    if (context.cancelled()) return Outcome::Cancelled();
    const MatrixTrouble trouble(stack, i);
    if (!CopyMatrix(context, a, l, n, n, Part::kLower, /*clear=*/true)) return trouble.NotFinite();
    const OpenBlasTurn turn(context, n < kSerialBelow);
    const int info = lapack::Potrf('U', static_cast<int>(n), l);
    if (info < 0) return trouble.Refused(info);
    if (info > 0) return trouble.NotPositiveDefinite(info);
  }
  return Outcome::Ok();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("cholesky", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::cholesky
