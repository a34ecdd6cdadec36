// What a test tells dense_by_lapack.cpp.
#pragma once

namespace hotplate::emulation {

// The `first`-th of the next calls of Eigh or Svd, from 0, ends with this info, as where the iteration does not
// converge; 0: with LAPACK's own.
struct GivenUp {
  int first = 0, info = 0;
};
inline GivenUp given_up;

}  // namespace hotplate::emulation
