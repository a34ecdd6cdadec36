#include "kernels/catalogue/expression/cpu/pass_run.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/expression/number.h"

namespace hotplate::expression {
namespace {

constexpr std::size_t kAlignment = 64;
// Elements times their weight: below, one thread is as fast as waking others; and in a chunk, some 100 microseconds.
constexpr std::size_t kSerialWork = 65'536, kChunkWork = 524'288;
constexpr std::size_t kMostChunk = 65'536, kLeastChunk = 4096;

std::size_t Aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

PassRun::PassRun(const Machine& machine, const Pass& pass, const RunArrays& arrays, CpuContext& context)
    : machine_(machine),
      pass_(pass),
      geometry_(pass.geometry),
      arrays_(arrays),
      context_(context),
      lanes_(Aligned(std::max(geometry_.block, geometry_.tile_columns))) {}

Outcome PassRun::Run(CpuContext::Part part) {
  for (const Splat& splat : pass_.splats) {
    const Node& node = machine_.program.nodes[static_cast<std::size_t>(splat.node)];
    if (!ElementOf(node, arrays_, machine_.program, elements_.emplace_back())) {
      const std::size_t leaf = static_cast<std::size_t>(node.leaf);
      return Outcome::Invalid(machine_.program.scalars[leaf].name + ": the integer " +
                              std::to_string(arrays_.numbers[leaf].integer) + " is out of bounds for " +
                              std::string(Name(node.dtype)));
    }
  }
  if (geometry_.total == 0) return WithoutPlaces();
  const bool done = pass_.folds.empty() || geometry_.short_rows ? RunFlat(part) : RunUnits(part);
  const MutexLock lock(mutex_);
  if (!fault_.empty()) return Outcome::Invalid(fault_);
  return done && !stopped_.load() ? Outcome::OkWithWarning(warning_) : Outcome::Cancelled();
}

void PassRun::Fault(const std::string& message) {
  const MutexLock lock(mutex_);
  if (fault_.empty()) fault_ = message;
  stopped_.store(true, std::memory_order_relaxed);
}

void PassRun::Warn(const std::string& message) {
  const MutexLock lock(mutex_);
  if (warning_.empty()) warning_ = message;
  warned_.store(true, std::memory_order_relaxed);
}

std::unique_ptr<PassRun::Workspace> PassRun::Take() {
  {
    const MutexLock lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(free_.back());
      free_.pop_back();
      return workspace;
    }
  }
  std::unique_ptr<Workspace> workspace = std::make_unique<Workspace>();
  std::size_t bytes = kAlignment;
  for (const bool is_register : pass_.is_register) bytes += is_register ? pass_.register_bytes : 0;
  for (const Folded& fold : pass_.folds) {
    bytes += Aligned(fold.accumulator->lane_bytes * lanes_) + Aligned(fold.accumulator->state_bytes * lanes_);
  }
  workspace->memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::byte* next = workspace->memory.get();
  next += Aligned(reinterpret_cast<std::uintptr_t>(next)) - reinterpret_cast<std::uintptr_t>(next);
  const auto take = [&](std::size_t size) { return std::exchange(next, next + Aligned(size)); };
  for (const bool is_register : pass_.is_register) {
    workspace->slots.push_back(is_register ? take(pass_.register_bytes) : nullptr);
  }
  for (const Folded& fold : pass_.folds) {
    workspace->lanes.push_back(take(fold.accumulator->lane_bytes * lanes_));
    workspace->states.push_back(take(fold.accumulator->state_bytes * lanes_));
  }
  if (!pass_.folds.empty()) workspace->counts.resize(lanes_);
  const std::size_t n = std::min(geometry_.block, geometry_.total);
  for (std::size_t i = 0; i < pass_.splats.size(); ++i) {
    const Node& node = machine_.program.nodes[static_cast<std::size_t>(pass_.splats[i].node)];
    const std::size_t element_bytes = node.dtype == DType::kFloat16 ? sizeof(float) : SizeOf(node.dtype);
    Fill(elements_[i].data(), element_bytes, n, workspace->slots[static_cast<std::size_t>(pass_.splats[i].slot)]);
  }
  Execute(pass_.once, *workspace, Place(geometry_, 0), n);
  return workspace;
}

void PassRun::GiveBack(std::unique_ptr<Workspace> workspace) {
  const MutexLock lock(mutex_);
  free_.push_back(std::move(workspace));
}

bool PassRun::Execute(const std::vector<Instruction>& instructions, Workspace& workspace, const Place& place,
                      std::size_t n) {
  std::byte* const* const slots = workspace.slots.data();
  for (const Instruction& one : instructions) {
    std::byte *const out = slots[one.out], *const a = slots[one.a];
    switch (one.kind) {
      case Instruction::Kind::kLoop:
        one.loop(out, a, slots[one.b], slots[one.c], n);
        break;
      case Instruction::Kind::kLoad: {
        const Array& array = pass_.arrays[static_cast<std::size_t>(one.leaf)];
        const std::byte* const from =
            array.kind == Array::Kind::kInput ? arrays_.inputs[static_cast<std::size_t>(array.index)] : nullptr;
        Load(geometry_, array, from, place, n, out);
        break;
      }
      case Instruction::Kind::kFetch: {
        const Gather& gather = machine_.program.gathers[static_cast<std::size_t>(one.leaf)];
        Fetch(arrays_.inputs[static_cast<std::size_t>(gather.input)], reinterpret_cast<const std::int64_t*>(a),
              one.element_bytes, n, out);
        break;
      }
      case Instruction::Kind::kLocate:
      case Instruction::Kind::kCheckExponents:
      case Instruction::Kind::kCheckBounds:
      case Instruction::Kind::kCheckDivisors:
        if (!Check(one, workspace, n)) return false;
    }
  }
  return true;
}

bool PassRun::Check(const Instruction& one, const Workspace& workspace, std::size_t n) {
  const std::byte* const a = workspace.slots[static_cast<std::size_t>(one.a)];
  if (one.kind == Instruction::Kind::kCheckExponents) {
    const std::optional<std::int64_t> exponent = FirstNegative(a, one.dtype, n);
    if (!exponent) return true;
    Fault("integers to negative integer powers are not allowed: an exponent is " + std::to_string(*exponent) +
          "; convert one to a float");
    return false;
  }
  if (one.kind == Instruction::Kind::kCheckBounds) {
    std::int64_t integer = 0;
    std::memcpy(&integer, a, sizeof integer);
    if (Side(integer, one.dtype) == 0) return true;
    Fault("Python integer " + std::to_string(integer) + " out of bounds for " + std::string(Name(one.dtype)));
    return false;
  }
  if (one.kind == Instruction::Kind::kCheckDivisors) {
    if (!warned_.load(std::memory_order_relaxed) && AnyZero(a, one.dtype, n)) {
      Warn("divide by zero encountered in " + std::string(RowOf(static_cast<Operator>(one.leaf)).name));
    }
    return true;
  }
  const Gather& gather = machine_.program.gathers[static_cast<std::size_t>(one.leaf)];
  const std::int64_t size = gather.shape[static_cast<std::size_t>(one.axis)];
  const std::int64_t* const index =
      reinterpret_cast<const std::int64_t*>(workspace.slots[static_cast<std::size_t>(one.b)]);
  const std::size_t inside =
      Locate(one.first ? nullptr : reinterpret_cast<const std::int64_t*>(a), index, size, n,
             reinterpret_cast<std::int64_t*>(workspace.slots[static_cast<std::size_t>(one.out)]));
  if (inside == n) return true;
  Fault(std::string(arrays_.names[static_cast<std::size_t>(gather.input)]) + ": index " +
        std::to_string(index[inside]) + " is out of bounds for axis " + std::to_string(one.axis) + " with size " +
        std::to_string(size));
  return false;
}

bool PassRun::Block(Workspace& workspace, std::size_t position, std::size_t n) {
  if (stopped_.load(std::memory_order_relaxed)) return false;
  if (context_.cancelled()) {
    stopped_.store(true, std::memory_order_relaxed);
    return false;
  }
  const Place place(geometry_, position);
  if (!pass_.per_line.empty()) {
    const std::size_t line = position / geometry_.line;
    if (line != workspace.line) {
      // From the line's beginning: a block at its end would go on into the next line.
      Place begin = place;
      begin.index[static_cast<std::size_t>(geometry_.rank) - 1] = 0;
      if (!Execute(pass_.per_line, workspace, begin, std::min(geometry_.block, geometry_.line))) return false;
      workspace.line = line;
    }
  }
  for (const Array& array : pass_.arrays) {
    if (array.slot < 0) continue;
    const std::size_t index = static_cast<std::size_t>(array.index);
    std::byte* const first =
        array.kind == Array::Kind::kInput ? const_cast<std::byte*>(arrays_.inputs[index]) : arrays_.outputs[index];
    workspace.slots[static_cast<std::size_t>(array.slot)] =
        first + place.In(geometry_, array.access) * array.element_bytes;
  }
  if (!Execute(pass_.per_block, workspace, place, n)) return false;
  for (const Store& store : pass_.stores) {
    const Array& array = pass_.arrays[static_cast<std::size_t>(store.array)];
    StoreBlock(geometry_, array, store.stream, workspace.slots[static_cast<std::size_t>(store.slot)], place, n,
               arrays_.outputs[static_cast<std::size_t>(array.index)]);
  }
  return true;
}

std::size_t PassRun::LengthAt(std::size_t position, std::size_t end) const {
  const std::size_t n = std::min(geometry_.block, end - position);
  return geometry_.spanning ? n : std::min(n, geometry_.line - position % geometry_.line);
}

void PassRun::Range(Workspace& workspace, std::size_t begin, std::size_t end) {
  const std::size_t group = geometry_.rows * geometry_.columns;
  for (std::size_t position = begin, n; position < end; position += n) {
    n = LengthAt(position, end);
    if (!Block(workspace, position, n)) return;
    for (std::size_t i = 0; i < pass_.folds.size(); ++i) {  // of short rows
      const Folded& fold = pass_.folds[i];
      const std::size_t first = position / group * geometry_.columns, results = n / group * geometry_.columns;
      fold.accumulator->whole(workspace.slots[static_cast<std::size_t>(fold.slot)], n / group, geometry_.rows,
                              geometry_.columns, workspace.states[i]);
      Finish(i, workspace.states[i], first, results);
    }
  }
}

bool PassRun::RunFlat(CpuContext::Part part) {
  const std::size_t total = geometry_.total;
  std::size_t unit = geometry_.block;  // chunks begin on borders of blocks
  std::size_t chunk = std::clamp(kChunkWork / pass_.weight, kLeastChunk, kMostChunk);
  if (!geometry_.spanning && geometry_.line <= chunk) unit = geometry_.line;
  chunk = std::max<std::size_t>(1, chunk / unit) * unit;
  if (total * pass_.weight <= kSerialWork) chunk = total;
  return context_.ParallelChunks(
      total, chunk,
      [this](std::size_t begin, std::size_t end) {
        std::unique_ptr<Workspace> workspace = Take();
        Range(*workspace, begin, end);
#if defined(__x86_64__)
        _mm_sfence();  // other threads will read what was streamed
#endif
        GiveBack(std::move(workspace));
      },
      part);
}

void PassRun::Finish(std::size_t fold, const void* states, std::size_t first, std::size_t n) const {
  const Folded& one = pass_.folds[fold];
  const Output& output = machine_.program.outputs[static_cast<std::size_t>(one.output)];
  const expression::Finish how{.reduction = output.reduction,
                               .dtype = output.signature.dtype,
                               .count = static_cast<double>(geometry_.rows),
                               .ddof = output.ddof};
  one.accumulator->finish(
      states, n, how, arrays_.outputs[static_cast<std::size_t>(one.output)] + first * SizeOf(output.signature.dtype));
}

Outcome PassRun::WithoutPlaces() const {
  const std::size_t results = geometry_.outer * geometry_.columns;
  for (std::size_t i = 0; i < pass_.folds.size(); ++i) {
    if (results == 0) break;
    const Accumulator& accumulator = *pass_.folds[i].accumulator;
    if (accumulator.none == nullptr) {
      const Output& output = machine_.program.outputs[static_cast<std::size_t>(pass_.folds[i].output)];
      return Outcome::Invalid(output.name + ": the smallest or largest of no elements is not defined");
    }
    const std::unique_ptr<std::byte[]> state(new std::byte[accumulator.state_bytes]);
    accumulator.none(state.get(), 1);
    const bool done = context_.ParallelChunks(results, kMostChunk, [&](std::size_t begin, std::size_t end) {
      for (std::size_t result = begin; result < end; ++result) Finish(i, state.get(), result, 1);
    });
    if (!done) return Outcome::Cancelled();
  }
  return Outcome::Ok();
}

}  // namespace hotplate::expression
