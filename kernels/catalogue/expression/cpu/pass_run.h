// One pass of a Machine over its space, by all threads.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/mutex.h"
#include "kernels/catalogue/expression/cpu/blocks.h"
#include "kernels/catalogue/expression/cpu/run.h"

namespace hotplate::expression {

class PassRun {
 public:
  PassRun(const Machine& machine, const Pass& pass, const RunArrays& arrays, CpuContext& context);

  Outcome Run(CpuContext::Part part);

 private:
  // One thread's memory: a register for each slot that is one, and each fold's lanes and states.
  struct Workspace {
    std::unique_ptr<std::byte[]> memory;
    std::vector<std::byte*> slots;
    std::vector<std::byte*> lanes, states;
    std::vector<std::uint32_t> counts;
    std::size_t line = ~std::size_t{0};  // that per_line ran for
  };
  // Lanes since they were folded last.
  struct Depth {
    std::size_t blocks = 0, begun = 0;
    std::array<std::uint32_t, kBlock + 1> of_length = {};  // blocks by their length
  };

  std::unique_ptr<Workspace> Take();
  void GiveBack(std::unique_ptr<Workspace> workspace);

  // Each false where the run shall stop.
  bool Execute(const std::vector<Instruction>& instructions, Workspace& workspace, const Place& place, std::size_t n);
  bool Check(const Instruction& one, const Workspace& workspace, std::size_t n);
  bool Block(Workspace& workspace, std::size_t position, std::size_t n);
  // The block that begins there and ends before `end`.
  std::size_t LengthAt(std::size_t position, std::size_t end) const;

  void Range(Workspace& workspace, std::size_t begin, std::size_t end);  // positions
  void Unit(Workspace& workspace, std::size_t unit);
  bool UnitRows(Workspace& workspace, std::size_t unit, std::size_t from, std::size_t to);
  bool UnitTile(Workspace& workspace, std::size_t unit, std::size_t from, std::size_t to);
  void TakeBlock(Workspace& workspace, std::size_t at, std::size_t n, std::size_t begun, std::size_t row);
  void FoldLanes(Workspace& workspace, std::size_t lanes, std::size_t results, bool first, std::size_t unit);
  void FoldRows(Workspace& workspace, Depth& depth, bool first, std::size_t unit);

  bool RunFlat(CpuContext::Part part);
  bool RunUnits(CpuContext::Part part);
  void Finish(std::size_t fold, const void* states, std::size_t first, std::size_t n) const;
  Outcome WithoutPlaces() const;
  std::byte* States(Workspace& workspace, std::size_t fold, std::size_t unit);

  void Fault(const std::string& message);
  void Warn(const std::string& message);  // the first one counts

  const Machine& machine_;
  const Pass& pass_;
  const Geometry& geometry_;
  const RunArrays& arrays_;
  CpuContext& context_;
  const std::size_t lanes_;                          // of each fold
  std::vector<std::array<std::byte, 16>> elements_;  // of each splat
  std::vector<std::unique_ptr<std::byte[]>> kept_;   // states of each fold's units, where results are of several
  std::atomic<bool> stopped_{false}, warned_{false};

  Mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_ ABSL_GUARDED_BY(mutex_);
  std::string fault_ ABSL_GUARDED_BY(mutex_);
  std::string warning_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::expression
