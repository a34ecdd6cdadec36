// The functions of a printed kernel that reduce. Standard library only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/expression/cuda_text.h"
#include "kernels/expression/cuda_text_layout.h"
#include "kernels/expression/cuda_text_nodes.h"

namespace hotplate::expression {

// Reductions made in one pass.
struct FoldGroup {
  std::vector<bool> reduced;  // for each axis of the layout
  std::vector<int> outputs = {};
  bool about_mean = false;  // the second pass of var and std
  int means_of = -1;        // the fold that wrote the means
};

inline bool IsAboutMean(Reduction reduction) { return reduction == Reduction::kVar || reduction == Reduction::kStd; }

// The bytes of a thread's state for these outputs.
std::uint64_t StateBytes(const Program& program, const std::vector<int>& outputs, bool about_mean);

// Float16, bfloat16 and float32 are summed and multiplied in float64, float64 is summed in two parts, and integers wrap
// around. A mean is written for a second pass, which adds the squares of the distances from it.
class FoldText {
 public:
  FoldText(const Program& program, const CudaLayout& layout, const FoldGroup& group, int number, NodePrinter& nodes);

  CudaFold Description() const { return description_; }
  std::string State() const;  // its struct
  std::string Functions();

 private:
  std::string Walks();
  std::string Start() const;
  std::string Add(int index);
  std::string Merge() const;
  std::string Finish();
  std::string FinishOne(int index, int& mean);
  std::string CountSlot();

  const Program& program_;
  const CudaLayout& layout_;
  const FoldGroup& group_;
  const std::string number_;
  NodePrinter& nodes_;
  std::vector<bool> kept_;
  CudaFold description_;
};

}  // namespace hotplate::expression
