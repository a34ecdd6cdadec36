// What is timed: a kernel's own rows at the sizes that matter for it, and for a kernel that has none, the largest case
// of its conformance suite. A new kernel so has a row before anybody writes one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/case.h"

namespace hotplate::bench {

struct Row {
  std::string name;  // letters, digits and underscores
  std::string kernel;
  std::map<std::string, ParamValue> params = {};
  int precision = HOTPLATE_PRECISION_DEFAULT;
  std::function<std::map<std::string, conformance::TestArray>()> inputs;
  // Inputs that are one and the same array: the second name shares the first one's memory.
  std::map<std::string, std::string> same_as = {};
  // On this back-end its arithmetic hides behind the bytes of its cost model, which it moves in order: it may be held
  // to the rate at which memory is copied. Not what gathers, goes over its data in passes, or computes for long.
  bool bound_by_memory = false;
  // The loop that it is then held to: "triad", or where nearly all of those bytes are its output's "fill" or
  // "broadcast", since memory takes what is only written at another rate than it copies.
  std::string bare_loop = "triad";
};

// For "cpu" or "cuda": a GPU's rows are larger, since what fits its caches says nothing of its memory, and always have
// those that are long on a processor.
std::vector<Row> RowsFor(const std::string& backend, bool with_long);

}  // namespace hotplate::bench
