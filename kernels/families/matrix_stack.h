// Stacks of matrices, [..., rows, columns], as the kernels of linear algebra take them, and the words in which both
// back-ends say that a matrix cannot be worked with. Standard library only.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "kernels/call/call.h"

namespace hotplate {

struct MatrixStack {
  std::uint64_t count = 0, rows = 0, columns = 0;

  std::uint64_t elements() const { return rows * columns; }  // of one matrix
  // No matrices, or empty ones: there is nothing to compute, whatever the other sizes are.
  bool empty() const { return count * elements() == 0; }
};

// For shapes with at least two dimensions.
inline MatrixStack StackOf(const std::int64_t* shape, std::size_t rank) {
  MatrixStack stack{.count = 1,
                    .rows = static_cast<std::uint64_t>(shape[rank - 2]),
                    .columns = static_cast<std::uint64_t>(shape[rank - 1])};
  for (std::size_t i = 0; i + 2 < rank; ++i) stack.count *= static_cast<std::uint64_t>(shape[i]);
  return stack;
}
inline MatrixStack StackOf(const hotplate_array& array) {
  return StackOf(array.shape, static_cast<std::size_t>(array.rank));
}

// The sizes of an array before its last two.
inline std::span<const std::int64_t> BatchOf(std::span<const std::int64_t> shape) {
  return shape.first(shape.size() - 2);
}

// Reports that a matrix cannot be worked with. `index`: its number in the stack.
class MatrixTrouble {
 public:
  MatrixTrouble(const MatrixStack& stack, std::uint64_t index) {
    if (stack.count == 1) {
      std::snprintf(which_, sizeof which_, "a");
    } else {
      std::snprintf(which_, sizeof which_, "matrix %llu of the %llu in a (counted from 0)",
                    static_cast<unsigned long long>(index), static_cast<unsigned long long>(stack.count));
    }
  }

  Outcome NotFinite() const { return Say("%s holds a NaN or an infinity", 0, Outcome::Invalid); }
  // info: LAPACK's, from 1.
  Outcome NotPositiveDefinite(std::int64_t info) const {
    return Say("%s is not positive definite: its leading minor of order %lld is not (info %lld)", info,
               Outcome::Invalid);
  }
  Outcome Singular(std::int64_t info) const {
    return Say("%s is singular: pivot %lld of its LU factors is exactly zero (info %lld)", info, Outcome::Invalid);
  }
  // `meaning`: explains an info above 0 of an iteration that was given up; routines differ. kLeft is for iterations by
  // QR (cuSOLVER's, and LAPACK's for values alone or for small matrices) and by Jacobi's rotations. dtype: the
  // matrix's.
  static constexpr char kLeft[] = ": the number of off-diagonal elements that are not zero yet";
  Outcome NoConvergence(std::int64_t info, const std::string& meaning, DType dtype) const {
    const DType twice = dtype == DType::kFloat32 ? DType::kFloat64 : DType::kComplex128;
    const bool wider = dtype == DType::kFloat32 || dtype == DType::kComplex64;
    return Outcome::Failed(which_ + (": the iteration did not converge (info " + std::to_string(info)) + meaning +
                           "); scale the matrix" + (wider ? ", or use " + std::string(Name(twice)) : ""));
  }
  // An argument that the library refused: a defect of the kernel, not of the input.
  Outcome Refused(std::int64_t info) const {
    return Say("%s: the library refused argument %lld of its call (info %lld)", info, Outcome::Failed);
  }

 private:
  Outcome Say(const char* words, std::int64_t info, Outcome (*make)(std::string_view)) const {
    char text[252];  // all that an outcome holds
    const auto shown = static_cast<long long>(info);
    std::snprintf(text, sizeof text, words, which_, shown < 0 ? -shown : shown, shown);
    return make(text);
  }

  char which_[96];
};

}  // namespace hotplate
