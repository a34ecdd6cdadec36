// The device memory of one task. An array with an identity is used where it lies on the device already, or gets memory
// of its own, which stays when the task is over; an output's bytes may then be here alone (abi.h: absent). All else of
// the task lies one behind the other in a block, which goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/devices/cuda/executor/executor.h"

namespace hotplate {

class TaskMemory {
 public:
  TaskMemory(DeviceExecutor& device, const LaneExecutor& lane) : device_(device), lane_(lane) {}
  TaskMemory(const TaskMemory&) = delete;
  TaskMemory& operator=(const TaskMemory&) = delete;

  // Memory for the call, whose arrays are on the host, and for its scratch; enqueues no copies. OUT_OF_MEMORY counts
  // only arrays that are not on the device already.
  Outcome Take(const hotplate_call& host, std::uint64_t scratch_bytes);
  // The call with its arrays and scratch on the device.
  const hotplate_call& call() const { return call_; }

  // Copies arrays that are not on the device yet; `copied`: there were any. Returns when the host's memory has been
  // read.
  Outcome CopyIn(Staging& staging, const CudaContext& context, bool& copied);
  // Copies outputs to the host, but for those that lie here alone from now on.
  Outcome CopyOut(Staging& staging, const CudaContext& context);
  bool CopiesOut() const;  // whether there are any

  // Frees the task's own memory in the lane's stream; the outputs of a complete task become resident. Other arrays that
  // the task used are held until this object ends: by then its work is done.
  Outcome Return(bool complete);

 private:
  struct Input {
    ResidentArrays::Use use;
    std::byte* host;
    std::uint64_t bytes;
  };
  struct Output {
    std::uint64_t identity;
    DevicePointer memory;
    std::byte* host;
    std::uint64_t bytes;
    std::uint32_t* absent;  // null: it is copied to the host too
  };

  // With `keep`, arrays with an identity get memory of their own if they have none.
  Outcome Place(const hotplate_call& host, bool keep);
  Outcome PlaceInput(hotplate_array& array, ResidentArrays::Use use, bool keep, Arena& arena);
  Outcome PlaceOutput(hotplate_array& array, bool keep, Arena& arena);
  // Where the array will lie in the block.
  Outcome InBlock(hotplate_array& array, std::vector<Piece>& pieces, Arena& arena);
  // Makes a complete output resident.
  Outcome Keep(const Output& output);
  // Cuts outputs whose size depends on the data to the size that the kernel has set.
  void CutToSize();
  // Restores the state before Place.
  Outcome Undo();

  DeviceExecutor& device_;
  const LaneExecutor& lane_;
  hotplate_call call_{};
  std::vector<hotplate_array> inputs_, outputs_;

  DevicePointer block_ = 0;
  std::uint64_t block_bytes_ = 0;
  std::vector<std::pair<hotplate_array*, std::uint64_t>> offsets_;  // of the arrays in the block
  std::vector<Piece> input_pieces_, output_pieces_;
  std::vector<Input> resident_inputs_;
  std::vector<Output> kept_outputs_;
  std::vector<std::uint64_t> made_;  // inputs that were not on the device before
};

}  // namespace hotplate
