// The part of a printed kernel that computes a place's values, and the block of parameters, which grows with what is
// printed. Standard library only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernels/expression/cuda_text.h"
#include "kernels/expression/cuda_text_layout.h"
#include "kernels/expression/cuda_text_values.h"

namespace hotplate::expression {

// How the values are printed.
struct NodeText {
  std::string indent;
  bool linear = false;            // views in the order of the places are read at `at`
  bool loaded = false;            // views are in the arrays of Loads, at [u]
  std::string place = "";         // text of the place's number, for checks
  bool explain = false;           // the first check that fails is written to the words, and that is all
  std::string bases = "";         // suffix of a view's variable that has its offset along the kept axes; empty: none
  std::vector<bool> walked = {};  // with bases: the axes that are not in them
};

class NodePrinter {
 public:
  NodePrinter(const Program& program, const CudaLayout& layout, CudaText& text);

  // The name "p.NAME" of a slot; made at the first call.
  std::string Slot(const std::string& name, const std::string& type, const CudaSlot& slot);
  std::string Value(const std::string& name, const std::string& type, std::uint64_t bits) {
    return Slot(name, type, {.value = bits});
  }
  std::string Size(int axis);         // U
  std::string PlaceStride(int axis);  // U64
  std::string Trouble() { return Slot("trouble", "U64*", {.kind = CudaSlot::Kind::kTrouble}); }
  const std::string& declarations() const { return declarations_; }

  bool HasChecks() const { return !checks_.empty(); }
  bool Uses(DType dtype) const { return uses_.contains(dtype); }
  bool UsesComplexFunctions() const;
  std::vector<bool> Needed(const std::vector<int>& roots) const;
  std::vector<bool> NeededByChecks() const;
  int CountOf(const std::vector<bool>& wanted) const;
  // Bytes of all views' elements at one place.
  unsigned ViewBytes(const std::vector<bool>& wanted) const;
  // The axes whose coordinates are used: by views (those in the order of the places apart), by kIndex.
  std::vector<bool> AxesOfViews(const std::vector<bool>& wanted, bool linear) const;
  std::vector<bool> AxesOfIndices(const std::vector<bool>& wanted) const;

  // c0, c1, … of the place `at`, as far as they are used.
  std::string Coordinates(const std::string& indent, const std::vector<bool>& used);
  std::string DeclareLoads(const std::vector<bool>& wanted, unsigned count) const;
  std::string Loads(const std::vector<bool>& wanted, const NodeText& how);
  std::string Compute(const std::vector<bool>& wanted, const NodeText& how);
  // The view's offset along the axes of `kept`, its own offset included.
  std::string Base(std::size_t view, const std::vector<bool>& kept);
  std::string Store(int output, const std::string& at);
  // Whether the value is a float16 that needs no rounding to be one.
  bool IsExact(int node) const;

 private:
  struct Check {
    int node = 0, first = 0;  // number of its first check
  };

  std::string Walk(std::size_t view, const std::vector<bool>& axes);
  std::string ViewText(const Node& node, const NodeText& how);
  std::string OperatorText(const Node& node);
  std::string GatherText(int index, const NodeText& how);
  std::string CheckPower(int index, const NodeText& how);
  bool IsCheckedPower(const Node& node) const;
  const Check* CheckOf(int node) const;
  const Node& At(int node) const { return program_.nodes[static_cast<std::size_t>(node)]; }
  static std::string Name(int node) { return "v" + std::to_string(node); }

  const Program& program_;
  const CudaLayout& layout_;
  CudaText& text_;
  std::set<std::string> slots_;
  std::set<DType> uses_;
  std::vector<Check> checks_;
  std::string declarations_;
};

}  // namespace hotplate::expression
