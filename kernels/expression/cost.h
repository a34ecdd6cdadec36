// The cost of a Program, for receipts and for running small ones at once.
#pragma once

#include "kernels/expression/program.h"

namespace hotplate::expression {

struct Work {
  double flop = 0;        // 1 for each operation, 18 for each function that is computed by a polynomial (exp, sin, …)
  double bytes_read = 0;  // each element that a view or a gather reaches once; an axis that is broadcast counts once
  double operations = 0;  // an upper bound of scalar operations on a CPU, with the slowest values that there are
};

Work WorkOf(const Program& program);

}  // namespace hotplate::expression
