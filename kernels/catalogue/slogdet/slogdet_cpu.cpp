#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/slogdet/slogdet.h"
#include "kernels/devices/cpu/lapack.h"
#include "kernels/devices/cpu/matrix_copy.h"
#include "kernels/devices/cpu/openblas_use.h"
#include "kernels/devices/cpu/stack_pieces.h"
#include "kernels/devices/device.h"
#include "kernels/families/square_matrices.h"

namespace hotplate::slogdet {
namespace {

// Smaller matrices run on one thread.
constexpr std::uint64_t kSerialBelow = 96;

std::uint64_t PiecesOf(const MatrixStack& stack) { return PiecesOf(stack, stack.count, stack.rows < kSerialBelow); }

// Scratch, of each piece of the stack: a copy of one matrix, which becomes its factors, and their pivots.
std::size_t PivotsAt(std::size_t n, std::size_t element) { return (n * n * element + 63) / 64 * 64; }
std::size_t PieceBytes(std::size_t n, std::size_t element) {
  return PivotsAt(n, element) + (n * sizeof(int) + 63) / 64 * 64;
}

// By columns, LAPACK sees a^T, which has the same determinant.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  const auto signs = call.Output<T>("sign"), logs = call.Output<T>("logabsdet");
  if (stack.empty()) {  // a determinant of nothing is 1
    std::fill(signs.begin(), signs.end(), T{1});
    std::fill(logs.begin(), logs.end(), T{0});
    return Outcome::Ok();
  }
  const auto n = static_cast<std::size_t>(stack.rows);
  const T* const a = call.Input<T>("a").data();
  const auto factor = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t piece) {
    std::byte* const scratch = call.scratch().data() + piece * PieceBytes(n, sizeof(T));
    T* const lu = reinterpret_cast<T*>(scratch);
    int* const pivots = reinterpret_cast<int*>(scratch + PivotsAt(n, sizeof(T)));
    for (std::uint64_t i = begin; i < end; ++i) {
      if (context.cancelled()) return Outcome::Cancelled();
      if (!CopyMatrix(context, a + i * n * n, lu, n, n, Part::kWhole, /*clear=*/false)) {
        signs[i] = logs[i] = std::numeric_limits<T>::quiet_NaN();
        continue;
      }
      const OpenBlasUse use(context, n < kSerialBelow);
      const int info = lapack::Getrf(static_cast<int>(n), lu, pivots);
      if (info < 0) return MatrixTrouble(stack, i).Refused(info);
      if (info > 0) {
        signs[i] = 0, logs[i] = -std::numeric_limits<T>::infinity();
        continue;
      }
      bool negative = false;
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const T pivot = lu[j * n + j];
        if ((pivot < 0) != (static_cast<std::size_t>(pivots[j]) != j + 1)) negative = !negative;
        sum += std::log(std::fabs(static_cast<double>(pivot)));
      }
      signs[i] = negative ? T{-1} : T{1};
      logs[i] = static_cast<T>(sum);
    }
    return Outcome::Ok();
  };
  return ForPieces(context, stack.count, PiecesOf(stack), factor);
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& a = call.Input("a");
  const MatrixStack stack = StackIn(call);
  if (stack.empty()) return {};
  return {.scratch_bytes = PiecesOf(stack) * PieceBytes(static_cast<std::size_t>(stack.rows), SizeOf(a.dtype))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("slogdet", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::slogdet
