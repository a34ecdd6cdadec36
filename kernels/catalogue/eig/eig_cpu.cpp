#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/eig/eig.h"
#include "kernels/devices/cpu/lapack.h"
#include "kernels/devices/cpu/matrix_copy.h"
#include "kernels/devices/cpu/openblas_use.h"
#include "kernels/devices/cpu/stack_pieces.h"
#include "kernels/devices/device.h"
#include "kernels/families/square_matrices.h"

namespace hotplate::eig {
namespace {

// Smaller matrices run on one thread.
constexpr std::uint64_t kSerialBelow = 64;

std::uint64_t PiecesOf(const MatrixStack& stack) { return PiecesOf(stack, stack.count, stack.rows < kSerialBelow); }

// complex<T> of a real T; of a complex one, itself.
template <typename T>
using ComplexFor = decltype(std::complex(T{}));

// Scratch, of each piece of a stack: a matrix, two real numbers for each of its rows, LAPACK's workspace. In elements.
struct Workspace {
  std::size_t matrix = 0, numbers = 0, work = 0;

  std::size_t Bytes(std::size_t element) const { return ((matrix + numbers + work) * element + 63) / 64 * 64; }
};

// LAPACK's own answer. In float32 it may have been rounded down.
template <typename T>
Workspace WorkspaceFor(std::size_t n, char job) {
  const int rows = static_cast<int>(n);  // the spec has bounded it
  T work = 0, unused = 0;
  if constexpr (std::is_floating_point_v<T>) {
    lapack::Geev(job, rows, &unused, &unused, &unused, &unused, &work, -1);
  } else {
    typename T::value_type numbers = 0;
    lapack::Geev(job, rows, &unused, &unused, &unused, &work, -1, &numbers);
  }
  const double elements = std::ceil(static_cast<double>(std::real(work)) * (1 + 0x1p-22));
  return {
      .matrix = n * n, .numbers = std::is_floating_point_v<T> ? 2 * n : n, .work = static_cast<std::size_t>(elements)};
}

char JobOf(std::string_view compute) { return compute == "vectors" ? 'V' : 'N'; }

// Columns of `parts`, matrix by columns, to eigenvectors in the columns of v, by rows. That of a real eigenvalue is one
// column. Those of a pair, x + iy and x - iy, are the columns x and y; the first is of the positive imaginary part.
template <typename Real>
void JoinColumns(CpuContext& context, const Real* imaginary, const Real* parts, std::complex<Real>* v, std::size_t n) {
  constexpr std::size_t kTile = 32;  // rows of v that are written side by side
  ForRanges(context, (n + kTile - 1) / kTile, n * n, [=](std::size_t begin, std::size_t end) {
    for (std::size_t top = begin * kTile; top < std::min(end * kTile, n); top += kTile) {
      for (std::size_t j = 0; j < n; ++j) {
        const bool pair = imaginary[j] > 0;
        for (std::size_t i = top; i < std::min(top + kTile, n); ++i) {
          const Real x = parts[j * n + i], y = pair ? parts[(j + 1) * n + i] : Real{0};
          v[i * n + j] = {x, y};
          if (pair) v[i * n + j + 1] = {x, -y};
        }
        if (pair) ++j;
      }
    }
  });
}

// By columns, LAPACK sees each matrix transposed, so that it gets its transpose. The copy that it overwrites lies in
// scratch; of a real matrix whose vectors are asked for, in v, and the vectors' parts in scratch.
template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const MatrixStack stack = StackOf(call.InputArray("a"));
  if (stack.empty()) return Outcome::Ok();
  const auto n = static_cast<std::size_t>(stack.rows);
  const char job = JobOf(call.Choice("compute"));
  const bool vectors = job == 'V';
  const T* const a = call.Input<T>("a").data();
  const auto all_w = call.Output<ComplexFor<T>>("w"), all_v = call.Output<ComplexFor<T>>("v");
  const Workspace sizes = WorkspaceFor<T>(n, job);
  const int rows = static_cast<int>(n), work_elements = static_cast<int>(sizes.work);  // the spec has bounded n
  const auto decompose = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t piece) {
    T* const matrix = reinterpret_cast<T*>(call.scratch().data() + piece * sizes.Bytes(sizeof(T)));
    T* const numbers = matrix + sizes.matrix;
    T* const work = numbers + sizes.numbers;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (context.cancelled()) return Outcome::Cancelled();
      ComplexFor<T>* const w = all_w.data() + i * n;
      ComplexFor<T>* const v = vectors ? all_v.data() + i * n * n : nullptr;
      T* const copy = vectors && std::is_floating_point_v<T> ? reinterpret_cast<T*>(v) : matrix;
      if (!CopyTransposed(context, a + i * n * n, copy, n, n)) return MatrixTrouble(stack, i).NotFinite();
      const OpenBlasUse use(context, n < kSerialBelow);
      int info = 0;
      if constexpr (std::is_floating_point_v<T>) {
        T* const imaginary = numbers + n;
        info = lapack::Geev(job, rows, copy, numbers, imaginary, matrix, work, work_elements);
        if (info == 0) {
          for (std::size_t j = 0; j < n; ++j) w[j] = {numbers[j], imaginary[j]};
          if (vectors) JoinColumns(context, imaginary, matrix, v, n);
        }
      } else {
        info = lapack::Geev(job, rows, copy, w, v, work, work_elements,
                            reinterpret_cast<typename T::value_type*>(numbers));
        if (info == 0 && vectors) TransposeSquare(context, v, n);
      }
      if (info < 0) return MatrixTrouble(stack, i).Refused(info);
      if (info > 0) {
        return MatrixTrouble(stack, i).NoConvergence(
            info, ": it found the last " + std::to_string(rows - info) + " of " + std::to_string(rows) + " eigenvalues",
            call.InputType("a"));
      }
    }
    return Outcome::Ok();
  };
  return ForPieces(context, stack.count, PiecesOf(stack), decompose);
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  if (stack.empty()) return {};
  const auto bytes =
      TypeFor<float, double, std::complex<float>, std::complex<double>>(call.Input("a").dtype, [&]<typename T>() {
        return WorkspaceFor<T>(static_cast<std::size_t>(stack.rows), JobOf(call.Choice("compute"))).Bytes(sizeof(T));
      });
  return {.scratch_bytes = PiecesOf(stack) * bytes.value_or(0)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double, std::complex<float>, std::complex<double>>(
      "eig", call.InputType("a"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::eig
