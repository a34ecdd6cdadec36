#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/solve/solve.h"
#include "kernels/catalogue/solve/systems.h"
#include "kernels/devices/cpu/lapack.h"
#include "kernels/devices/cpu/matrix_copy.h"
#include "kernels/devices/cpu/openblas_use.h"
#include "kernels/devices/cpu/stack_pieces.h"
#include "kernels/devices/device.h"

namespace hotplate::solve {
namespace {

// Fewer multiplications to a system than this are not worth waking threads for.
constexpr double kSerialBelow = 300'000;

// x := x (factor)^-1, by rows; `upper`: U of the factors, else L, whose diagonal is 1.
void DivideBy(bool upper, int rows, int n, const float* lu, float* x, int leading) {
  cblas_strsm(CblasColMajor, CblasRight, upper ? CblasUpper : CblasLower, CblasNoTrans,
              upper ? CblasNonUnit : CblasUnit, rows, n, 1, lu, n, x, leading);
}
void DivideBy(bool upper, int rows, int n, const double* lu, double* x, int leading) {
  cblas_dtrsm(CblasColMajor, CblasRight, upper ? CblasUpper : CblasLower, CblasNoTrans,
              upper ? CblasNonUnit : CblasUnit, rows, n, 1, lu, n, x, leading);
}
void DivideVectorBy(bool upper, int n, const float* lu, float* x) {
  cblas_strsv(CblasColMajor, upper ? CblasUpper : CblasLower, CblasTrans, upper ? CblasNonUnit : CblasUnit, n, lu, n, x,
              1);
}
void DivideVectorBy(bool upper, int n, const double* lu, double* x) {
  cblas_dtrsv(CblasColMajor, upper ? CblasUpper : CblasLower, CblasTrans, upper ? CblasNonUnit : CblasUnit, n, lu, n, x,
              1);
}

bool IsSerial(const Systems& systems) {
  const double unknowns = static_cast<double>(systems.stack.rows);
  return unknowns * unknowns * (unknowns / 3 + static_cast<double>(systems.k)) < kSerialBelow;
}

// Each piece factors its first matrix even if its neighbour has factored it too. This must stay the lesser part of the
// work.
std::uint64_t PiecesOf(const Systems& systems) {
  const std::uint64_t pieces = PiecesOf(systems.stack, systems.count, IsSerial(systems));
  const std::uint64_t solved = 3 * systems.count * systems.k / systems.stack.rows;  // in units of a factoring's work
  return std::clamp<std::uint64_t>((solved + systems.factorings()) / 2, 1, pieces);
}

// Scratch, of each piece of the systems: a copy of one matrix, which becomes its factors, and their pivots.
std::size_t PivotsAt(std::size_t n, std::size_t element) { return (n * n * element + 63) / 64 * 64; }
std::size_t PieceBytes(std::size_t n, std::size_t element) {
  return PivotsAt(n, element) + (n * sizeof(int) + 63) / 64 * 64;
}

// By columns, LAPACK sees a^T = P L U, and x^T a^T = b^T for x and b that stay as they lie, in rows: so x^T = b^T U^-1
// L^-1 P^T, and P^T exchanges rows of x.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const Systems systems = SystemsOf(call);
  if (systems.empty()) return Outcome::Ok();  // has no scratch either
  const auto n = static_cast<std::size_t>(systems.stack.rows), k = static_cast<std::size_t>(systems.k);
  const T* const a = call.Input<T>("a").data();
  const T* const b = call.Input<T>("b").data();
  T* const first = call.Output<T>("x").data();
  const bool serial = IsSerial(systems);
  const int order = static_cast<int>(n), sides = static_cast<int>(k);  // the spec has bounded them
  const auto solve = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t piece) {
    std::byte* const scratch = call.scratch().data() + piece * PieceBytes(n, sizeof(T));
    T* const lu = reinterpret_cast<T*>(scratch);
    int* const pivots = reinterpret_cast<int*>(scratch + PivotsAt(n, sizeof(T)));
    std::uint64_t factored = systems.stack.count;  // which of a's matrices: none
    for (std::uint64_t i = begin; i < end; ++i) {
      if (context.cancelled()) return Outcome::Cancelled();
      T* const x = first + i * n * k;
      const Broadcast::Place place = systems.matrices.Element(i);
      const bool factor = place.a != factored;
      if (factor) static_cast<void>(CopyMatrix(context, a + place.a * n * n, lu, n, n, Part::kWhole, /*clear=*/false));
      const OpenBlasUse use(context, serial);
      if (factor) {
        const int info = lapack::Getrf(order, lu, pivots);
        if (info < 0) return MatrixTrouble(systems.stack, place.a).Refused(info);
        if (info > 0) return MatrixTrouble(systems.stack, place.a).Singular(info);
        factored = place.a;
      }
      if (k == 0) continue;
      std::memcpy(x, b + place.b * n * k, n * k * sizeof(T));
      for (const bool upper : {true, false}) {
        if (k == 1) {
          DivideVectorBy(upper, order, lu, x);
        } else {
          DivideBy(upper, sides, order, lu, x, sides);
        }
      }
      for (std::size_t row = n; row-- > 0;) {
        const auto other = static_cast<std::size_t>(pivots[row]) - 1;
        if (other != row) std::swap_ranges(x + row * k, x + (row + 1) * k, x + other * k);
      }
    }
    return Outcome::Ok();
  };
  return ForPieces(context, systems.count, PiecesOf(systems), solve);
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& a = call.Input("a");
  const Systems systems = SystemsOf(a.shape, call.Input("b").shape, call.outputs.front().shape);
  if (systems.empty()) return {};
  return {.scratch_bytes =
              PiecesOf(systems) * PieceBytes(static_cast<std::size_t>(systems.stack.rows), SizeOf(a.dtype))};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("solve", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::solve
