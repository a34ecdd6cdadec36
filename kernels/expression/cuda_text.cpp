#include "kernels/expression/cuda_text.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/expression/cuda_text_folds.h"
#include "kernels/expression/cuda_text_nodes.h"
#include "kernels/expression/cuda_text_prelude.h"

namespace hotplate::expression {
namespace {

// Shared memory has 192 bytes for each thread of a block.
constexpr std::uint64_t kMostStateBytes = 160;

constexpr unsigned kInFlight = 32;  // bytes that a thread waits for at a time: enough for all of them to fill the bus

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), layout_(program), nodes_(program, layout_, text_) {}

  CudaText Print() {
    text_.places = layout_.places;
    std::vector<int> plain;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      if (program_.outputs[i].reduction == Reduction::kNone) plain.push_back(static_cast<int>(i));
    }
    PrintPrepare();
    if (!plain.empty()) PrintEach(plain);
    for (const FoldGroup& group : Groups()) PrintFold(group);
    PrintExplain();
    Assemble();
    return std::move(text_);
  }

 private:
  // Reductions of the same axes in one pass, as far as their states fit; those of var and std once more about the mean.
  std::vector<FoldGroup> Groups() const {
    std::vector<FoldGroup> groups;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Output& output = program_.outputs[i];
      if (output.reduction == Reduction::kNone) continue;
      const std::vector<bool> reduced = layout_.Reduced(output.axes);
      const std::uint64_t bytes = StateBytes(program_, {static_cast<int>(i)}, false);
      const auto fits = std::find_if(groups.begin(), groups.end(), [&](const FoldGroup& group) {
        return group.reduced == reduced && StateBytes(program_, group.outputs, false) + bytes <= kMostStateBytes;
      });
      if (fits != groups.end()) {
        fits->outputs.push_back(static_cast<int>(i));
      } else {
        groups.push_back({.reduced = reduced, .outputs = {static_cast<int>(i)}});
      }
    }
    std::vector<FoldGroup> passes;
    for (FoldGroup& group : groups) {
      FoldGroup second{.reduced = group.reduced, .about_mean = true};
      for (const int output : group.outputs) {
        if (IsAboutMean(program_.outputs[static_cast<std::size_t>(output)].reduction)) second.outputs.push_back(output);
      }
      passes.push_back(std::move(group));
      if (second.outputs.empty()) continue;
      second.means_of = static_cast<int>(passes.size()) - 1;
      passes.push_back(std::move(second));
    }
    return passes;
  }

  void Open(const std::string& name, bool bounded) {
    functions_ += "extern \"C\" __global__ void " + std::string(bounded ? "__launch_bounds__(256) " : "") + name +
                  "(PARAMETERS, const U64 begin, const U64 end) {\n  GIVEN\n";
  }

  void PrintPrepare() {
    if (!nodes_.HasChecks()) return;
    Open("prepare", false);
    functions_ += "  " + nodes_.Trouble() + "[0] = ~0ULL;\n}\n";
  }

  // Each thread first asks for all that it needs of a few places, and then computes them: stores in between would have
  // it wait for each.
  void PrintEach(const std::vector<int>& outputs) {
    text_.each = true;
    std::vector<int> roots;
    for (const int output : outputs) roots.push_back(program_.outputs[static_cast<std::size_t>(output)].node);
    const std::vector<bool> wanted = nodes_.Needed(roots);
    const unsigned bytes = nodes_.ViewBytes(wanted);
    const unsigned most = outputs.size() + static_cast<unsigned>(nodes_.CountOf(wanted)) > 64 ? 2 : 8;
    text_.per_thread = std::clamp(kInFlight / std::max(bytes, 1u), 1u, most);
    const std::string n = std::to_string(text_.per_thread), step = std::to_string(256 * text_.per_thread);
    Open("expression", true);
    functions_ += "  for (U64 first = begin + (U64)blockIdx.x * " + step +
                  " + threadIdx.x; first < end; first += (U64)gridDim.x * " + step + ") {\n";
    const std::string head = "    _Pragma(\"unroll\")\n    for (unsigned u = 0; u < " + n +
                             "; ++u) {\n      const U64 at = first + u * 256u;\n      if (at >= end) continue;\n";
    NodeText loads{.indent = "      ", .linear = true};
    functions_ += nodes_.DeclareLoads(wanted, text_.per_thread);
    functions_ += head + nodes_.Coordinates(loads.indent, nodes_.AxesOfViews(wanted, true)) +
                  nodes_.Loads(wanted, loads) + "    }\n";
    NodeText compute{.indent = "      ", .linear = true, .loaded = true, .place = "at"};
    functions_ +=
        head + nodes_.Coordinates(compute.indent, nodes_.AxesOfIndices(wanted)) + nodes_.Compute(wanted, compute);
    for (const int output : outputs) functions_ += "      " + nodes_.Store(output, "at");
    functions_ += "    }\n  }\n}\n";
  }

  void PrintFold(const FoldGroup& group) {
    const int number = static_cast<int>(text_.folds.size());
    FoldText fold(program_, layout_, group, number, nodes_);
    text_.folds.push_back(fold.Description());
    states_ += fold.State();
    functions_ += fold.Functions();
  }

  // The first fault: the number of the check that failed, and the index.
  void PrintExplain() {
    if (!nodes_.HasChecks()) return;
    Open("explain", false);
    functions_ += "  const U64 at = " + nodes_.Trouble() + "[0];\n  if (at == ~0ULL) return;\n";
    const std::vector<bool> wanted = nodes_.NeededByChecks();
    std::vector<bool> all(layout_.sizes.size(), true);
    functions_ += nodes_.Coordinates("  ", all);
    functions_ += nodes_.Compute(wanted, {.indent = "  ", .linear = true, .place = "at", .explain = true});
    functions_ += "}\n";
  }

  void Assemble() {
    text_.by_pointer = text_.slots.size() * 8 > CudaText::kMostByValue;
    std::string& source = text_.source;
    source = kPreludeTypes;
    source += kPreludeIntegers;
    source += kPreludeFloats;
    source += kPreludeCasts;
    const auto uses = [&](DType dtype) { return nodes_.Uses(dtype); };
    if (uses(DType::kFloat16)) source += kPreludeHalves;
    if (uses(DType::kBFloat16)) source += kPreludeBrains;
    if (uses(DType::kComplex64) || uses(DType::kComplex128)) {
      source += kPreludeComplex;
      if (nodes_.UsesComplexFunctions()) source += kPreludeFunctions;
    }
    if (!text_.folds.empty()) source += kPreludeFolds;
    source += layout_.wide ? "typedef U64 U;\ntypedef I64 S;\n" : "typedef unsigned U;\ntypedef int S;\n";
    source += "struct P {\n" + nodes_.declarations() + "};\n";
    source += text_.by_pointer ? "#define PARAMETERS const P* const block\n#define GIVEN const P& p = *block;\n"
                               : "#define PARAMETERS const P p\n#define GIVEN\n";
    source += states_ + functions_;
  }

  const Program& program_;
  const CudaLayout layout_;
  CudaText text_;
  NodePrinter nodes_;
  std::string states_, functions_;
};

}  // namespace

CudaText PrintCuda(const Program& program) { return Printer(program).Print(); }

FoldGeometry GeometryOf(const CudaFold& fold, int multiprocessors) {
  constexpr std::uint64_t kThreadsEach = 2048;  // that a multiprocessor can have
  constexpr std::uint64_t kLeastEach = 8;       // places that a thread goes through, at least
  constexpr std::uint64_t kMostEach = std::uint64_t{1} << 16;
  constexpr std::uint64_t kMostSplits = 2048;
  FoldGeometry geometry;
  const std::uint64_t threads = static_cast<std::uint64_t>(std::max(multiprocessors, 1)) * kThreadsEach;
  const bool few = fold.outputs < threads / 8;
  // Neighbouring threads read neighbouring elements: of one output's where the innermost axis is reduced.
  if (fold.count >= 32 && (fold.inner || fold.outputs < 32)) geometry.lanes = fold.count < 1024 ? 32 : 256;
  if (few && fold.outputs > 0) {
    const std::uint64_t wanted = threads / (fold.outputs * geometry.lanes);
    const std::uint64_t possible = fold.count / (geometry.lanes * kLeastEach);
    geometry.splits = std::clamp<std::uint64_t>(std::min(wanted, possible), 1, kMostSplits);
  }
  // A piece is not cut when a job is cancelled, so it has a bound, however many pieces that makes.
  geometry.splits = std::max(geometry.splits, fold.count / (geometry.lanes * kMostEach));
  if (geometry.splits >= 32) {
    geometry.merge_lanes = static_cast<unsigned>(std::min<std::uint64_t>(std::bit_floor(geometry.splits), 256));
    if (fold.outputs > 1024) geometry.merge_lanes = 32;
  }
  return geometry;
}

}  // namespace hotplate::expression
