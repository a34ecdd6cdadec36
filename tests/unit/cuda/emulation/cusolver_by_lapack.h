// cuSOLVER by the host's LAPACK: what the kernels ask of the library, and what they make of its answers, is judged
// without a GPU. As strict as a library may be: a routine wants a workspace of its own size that was asked for in just
// these terms, and writes over it; a handle has the lane's stream, and another's bits unless it is told to have the
// same.
#pragma once

#include <string>
#include <vector>

#include "kernels/devices/cuda/libraries/cusolver.h"

namespace hotplate::emulation {

// As the loader finds them.
Cusolver CusolverByLapack();

// All calls of routines since the last call of this, in the library's terms: "Dpotrf U 33 33" is of float64, of the
// upper triangle, of order 33 with 33 elements from a column to the next.
std::vector<std::string> TakeSolved();

// Handles that were made and not destroyed.
int SolverHandles();

// The `first`-th of the next calls of ?syevd or ?gesvd, from 0, ends with this info, as where the iteration does not
// converge; 0: with LAPACK's own.
struct GivenUp {
  int first = 0, info = 0;
};
inline GivenUp given_up;

}  // namespace hotplate::emulation
