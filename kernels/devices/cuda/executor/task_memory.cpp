#include "kernels/devices/cuda/executor/task_memory.h"

#include <algorithm>
#include <atomic>

namespace hotplate {
namespace {

Outcome TooLarge() { return Outcome::Invalid("the call's arrays together do not fit 64-bit sizes"); }

bool MayStay(const hotplate_array& array) {
  return array.identity != 0 && array.bytes > 0 && array.actual_size == nullptr;
}

bool IsAbsent(const hotplate_array& array) {
  return array.absent != nullptr && std::atomic_ref(*array.absent).load(std::memory_order_acquire) != 0;
}

}  // namespace

Outcome PlanBytes(const CudaLauncher& launcher, const hotplate_call& call, const CudaTraits& traits,
                  std::uint64_t& bytes) {
  Arena arena;
  std::uint64_t offset = 0;
  const Call view(call);
  bool fits = true;
  for (const hotplate_array& array : view.inputs()) fits = fits && arena.Add(array.bytes, &offset);
  for (const hotplate_array& array : view.outputs()) fits = fits && arena.Add(array.bytes, &offset);
  fits = fits && arena.Add(launcher.scratch_bytes == nullptr ? 0 : launcher.scratch_bytes(view, traits), &offset);
  bytes = arena.bytes();
  return fits ? Outcome::Ok() : TooLarge();
}

Outcome TaskMemory::Take(const hotplate_call& host, std::uint64_t scratch_bytes) {
  call_ = host;
  call_.scratch_bytes = scratch_bytes;
  const Outcome placed = Place(host, /*keep=*/true);
  const bool keeps = !made_.empty() || !kept_outputs_.empty();
  if (placed.code() != HOTPLATE_OUT_OF_MEMORY || !keeps) return placed;
  // In one block, as without identities. It may exist where separate parts did not; if not, the message is about all of
  // it.
  if (const Outcome o = Undo(); !o.ok()) return o;
  return Place(host, /*keep=*/false);
}

Outcome TaskMemory::Place(const hotplate_call& host, bool keep) {
  const Call view(host);
  inputs_.assign(view.inputs().begin(), view.inputs().end());
  outputs_.assign(view.outputs().begin(), view.outputs().end());
  Arena arena;
  // Hold arrays that are on the device before making room for the others.
  std::vector<ResidentArrays::Use> there(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (MayStay(inputs_[i])) there[i] = device_.resident().Find(inputs_[i].identity, inputs_[i].bytes);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (const Outcome o = PlaceInput(inputs_[i], std::move(there[i]), keep, arena); !o.ok()) return o;
  }
  for (hotplate_array& array : outputs_) {
    if (const Outcome o = PlaceOutput(array, keep, arena); !o.ok()) return o;
  }
  std::uint64_t scratch_offset = 0;
  if (!arena.Add(call_.scratch_bytes, &scratch_offset)) return TooLarge();
  if (const std::uint64_t bytes = arena.bytes(); bytes > 0) {
    const bool keeps = !made_.empty() || !kept_outputs_.empty();
    const Outcome o =
        keeps ? device_.TryAllocate(bytes, lane_.stream(), block_) : device_.Allocate(bytes, lane_, block_);
    if (!o.ok()) return o;
    block_bytes_ = bytes;
  }
  auto* const block = reinterpret_cast<std::byte*>(block_);
  for (const auto& [array, offset] : offsets_) array->data = block + offset;
  call_.inputs = inputs_.data();
  call_.outputs = outputs_.data();
  call_.scratch = block + scratch_offset;
  return Outcome::Ok();
}

Outcome TaskMemory::PlaceInput(hotplate_array& array, ResidentArrays::Use use, bool keep, Arena& arena) {
  if (!MayStay(array)) return InBlock(array, input_pieces_, arena);
  // An input that is given twice is there by now.
  if (!use) use = device_.resident().Find(array.identity, array.bytes);
  // One that made room in this moment has been written to the host.
  if (!use && IsAbsent(array)) return Outcome::Failed("an input's only copy is not on this device any more");
  if (!use && keep) {
    DevicePointer memory = 0;
    made_.push_back(array.identity);
    const std::uint64_t bytes = ResidentArrays::MemoryBytes(array.bytes);
    if (const Outcome o = device_.TryAllocate(bytes, lane_.stream(), memory); !o.ok()) return o;
    use = device_.Keep(array.identity, array.bytes, 0, memory, lane_.stream());
  }
  if (!use) return InBlock(array, input_pieces_, arena);
  auto* const host = static_cast<std::byte*>(array.data);
  array.data = use.memory();
  resident_inputs_.push_back({std::move(use), host, array.bytes});
  return Outcome::Ok();
}

Outcome TaskMemory::PlaceOutput(hotplate_array& array, bool keep, Arena& arena) {
  if (!MayStay(array) || !keep) return InBlock(array, output_pieces_, arena);
  // The output becomes a resident array only when it is complete; until then nobody knows its identity.
  std::uint32_t* const absent = array.absent != nullptr && device_.CanWriteBack() ? array.absent : nullptr;
  Output& output =
      kept_outputs_.emplace_back(Output{array.identity, 0, static_cast<std::byte*>(array.data), array.bytes, absent});
  const std::uint64_t bytes = ResidentArrays::MemoryBytes(array.bytes);
  if (const Outcome o = device_.TryAllocate(bytes, lane_.stream(), output.memory); !o.ok()) return o;
  array.data = reinterpret_cast<std::byte*>(output.memory);
  return Outcome::Ok();
}

// An array that is given twice (a matrix times its own transpose) has one place.
Outcome TaskMemory::InBlock(hotplate_array& array, std::vector<Piece>& pieces, Arena& arena) {
  auto* const host = static_cast<std::byte*>(array.data);
  const auto same = std::find_if(pieces.begin(), pieces.end(),
                                 [&](const Piece& piece) { return piece.host == host && piece.bytes == array.bytes; });
  std::uint64_t offset = 0;
  if (same != pieces.end()) {
    offset = same->offset;
  } else {
    if (!arena.Add(array.bytes, &offset)) return TooLarge();
    if (array.bytes > 0) pieces.push_back({host, offset, array.bytes});
  }
  offsets_.emplace_back(&array, offset);
  return Outcome::Ok();
}

Outcome TaskMemory::CopyIn(Staging& staging, const CudaContext& context, bool& copied) {
  copied = !input_pieces_.empty();
  for (const Input& input : resident_inputs_) {
    const auto cancelled = [&] { return context.CancelRequested(); };
    const auto copy = [&](std::uint64_t from) {
      copied = true;
      const Piece rest{input.host + from, from, input.bytes - from};
      return staging.ToDevice(input.use.memory(), {&rest, 1}, context);
    };
    const Outcome whole = device_.resident().Complete(input.use, context.stream(), cancelled, copy);
    if (!whole.ok()) return whole;
  }
  return staging.ToDevice(reinterpret_cast<std::byte*>(block_), input_pieces_, context);
}

void TaskMemory::CutToSize() {
  const auto* const block = reinterpret_cast<const std::byte*>(block_);
  for (const hotplate_array& array : outputs_) {
    if (array.actual_size == nullptr || array.shape[0] <= 0) continue;
    const std::int64_t size = std::clamp<std::int64_t>(*array.actual_size, 0, array.shape[0]);
    for (Piece& piece : output_pieces_) {
      if (array.data != block + piece.offset) continue;
      piece.bytes = array.bytes / static_cast<std::uint64_t>(array.shape[0]) * static_cast<std::uint64_t>(size);
    }
  }
  std::erase_if(output_pieces_, [](const Piece& piece) { return piece.bytes == 0; });
}

Outcome TaskMemory::CopyOut(Staging& staging, const CudaContext& context) {
  CutToSize();
  for (const Output& output : kept_outputs_) {
    if (output.absent != nullptr) continue;
    const Piece whole{output.host, 0, output.bytes};
    const Outcome o = staging.FromDevice(reinterpret_cast<std::byte*>(output.memory), {&whole, 1}, context);
    if (!o.ok()) return o;
  }
  return staging.FromDevice(reinterpret_cast<std::byte*>(block_), output_pieces_, context);
}

bool TaskMemory::CopiesOut() const {
  return !output_pieces_.empty() || std::any_of(kept_outputs_.begin(), kept_outputs_.end(),
                                                [](const Output& output) { return output.absent == nullptr; });
}

Outcome TaskMemory::Keep(const Output& output) {
  ArrayHome home;
  if (output.absent != nullptr) {
    home = {output.host, output.absent};
    // Before anybody can want its room, and clear it.
    std::atomic_ref(*output.absent).store(1, std::memory_order_release);
  }
  const ResidentArrays::Use kept =
      device_.Keep(output.identity, output.bytes, output.bytes, output.memory, lane_.stream(), home);
  if (kept || output.absent == nullptr) return Outcome::Ok();  // without it the host's copy is all there is
  std::atomic_ref(*output.absent).store(0, std::memory_order_release);
  return Outcome::Failed("an output could not be kept on the device");
}

Outcome TaskMemory::Return(bool complete) {
  Outcome freed = Outcome::Ok();
  for (const Output& output : kept_outputs_) {
    if (output.memory == 0) continue;
    if (complete) {
      if (const Outcome o = Keep(output); !o.ok()) freed = o;
      continue;
    }
    const std::uint64_t bytes = ResidentArrays::MemoryBytes(output.bytes);
    if (const Outcome o = device_.Free(output.memory, bytes, lane_.stream()); !o.ok()) freed = o;
  }
  kept_outputs_.clear();
  if (block_ != 0) {
    if (const Outcome o = device_.Free(block_, block_bytes_, lane_.stream()); !o.ok()) freed = o;
    block_ = 0;
  }
  return freed;
}

Outcome TaskMemory::Undo() {
  const Outcome freed = Return(/*complete=*/false);
  resident_inputs_.clear();
  // Another lane may have found one meanwhile; then it goes when that is over.
  for (const std::uint64_t identity : made_) device_.resident().Forget(identity);
  made_.clear();
  input_pieces_.clear();
  output_pieces_.clear();
  offsets_.clear();
  return freed;
}

}  // namespace hotplate
