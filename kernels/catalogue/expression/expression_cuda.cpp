// The GPU's side of an expression: its text is checked and printed as CUDA once, and kept for the next call; the code
// is compiled and kept by the device (CudaContext::LoadCode).
#include "kernels/catalogue/expression/expression_cuda.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kernels/base/last_used.h"
#include "kernels/catalogue/expression/expression.h"
#include "kernels/devices/cuda/code/grid.h"
#include "kernels/expression/call_program.h"
#include "kernels/expression/cuda_text.h"

namespace hotplate::expression {
namespace {

using Kind = CudaSlot::Kind;

constexpr double kChunkMs = 10;  // two are in flight when a job is cancelled
constexpr std::uint64_t kLeastChunk = std::uint64_t{1} << 22;
constexpr std::uint64_t kBlocksEach = 32;  // of a multiprocessor, at most; threads go on from place to place

struct Printed {
  Program program;
  CudaText text;
  std::string error;  // empty: there is a text
};

std::shared_ptr<const Printed> Print(const Call& call) {
  auto printed = std::make_shared<Printed>();
  std::variant<Program, Error> checked = ProgramOf(call);
  if (const auto* error = std::get_if<Error>(&checked)) {
    printed->error = "expression: this back-end cannot compute it: " + error->message;
    return printed;
  }
  printed->program = std::get<Program>(std::move(checked));
  printed->text = PrintCuda(printed->program);
  return printed;
}

std::shared_ptr<const Printed> PrintedOf(const Call& call) {
  constexpr std::size_t kMost = 64;
  static LastUsed<std::shared_ptr<const Printed>>& texts = *new LastUsed<std::shared_ptr<const Printed>>(kMost);
  std::string key = KeyOf(call);
  std::shared_ptr<const Printed> printed = texts.Find(key);
  if (printed != nullptr) return printed;
  printed = Print(call);
  texts.Add(std::move(key), printed);
  return printed;
}

// Where things lie in the scratch.
struct Places {
  std::vector<FoldGeometry> geometry;
  std::vector<std::uint64_t> partials, means;
  std::uint64_t trouble = 0, block = 0, bytes = 0;

  Places(const CudaText& text, const CudaTraits& traits) {
    Arena arena;
    bool fits = true;
    const auto add = [&](std::uint64_t size) {
      std::uint64_t offset = 0;
      fits = fits && arena.Add(size, &offset);
      return offset;
    };
    if (!text.checks.empty()) trouble = add(CudaText::kTroubleWords * 8);
    if (text.by_pointer) block = add(text.slots.size() * 8);
    for (const CudaFold& fold : text.folds) {
      const FoldGeometry& how = geometry.emplace_back(GeometryOf(fold, traits.multiprocessors));
      partials.push_back(how.splits > 1 ? add(fold.outputs * how.splits * fold.state_bytes) : 0);
      means.push_back(fold.means > 0 ? add(fold.outputs * static_cast<std::uint64_t>(fold.means) * 8) : 0);
    }
    bytes = fits ? arena.bytes() : UINT64_MAX;
  }
};

const hotplate_param* NumberOf(const Call& call, const Scalar& scalar) {
  for (const hotplate_param& param : call.params()) {
    if (param.type != HOTPLATE_PARAM_CHOICE && scalar.name == param.name) return &param;
  }
  return nullptr;
}

// An integer that the dtype of what it is combined with cannot hold.
bool IsOutOfBounds(DType dtype, std::int64_t number) {
  if (!IsInteger(dtype)) return false;
  if (dtype == DType::kUInt64) return number < 0;
  const unsigned bits = 8 * static_cast<unsigned>(SizeOf(dtype));
  if (dtype >= DType::kUInt8) return number < 0 || (bits < 64 && number >= std::int64_t{1} << bits);
  return bits < 64 && (number < -(std::int64_t{1} << (bits - 1)) || number >= std::int64_t{1} << (bits - 1));
}

class Launches {
 public:
  Launches(const Call& call, CudaContext& context, const Printed& printed)
      : call_(call),
        context_(context),
        program_(printed.program),
        text_(printed.text),
        places_(text_, context.traits()) {}

  Outcome Run() {
    if (const Outcome o = RefuseNothing(); !o.ok()) return o;
    if (const Outcome o = Fill(); !o.ok()) return o;
    context_.host_words()[0] = CudaText::kNoTrouble;
    if (!text_.checks.empty()) {
      if (const Outcome o = Launch("prepare", 1, 1, 0, 0); !o.ok()) return o;
    }
    if (text_.each && text_.places > 0) {
      const std::uint64_t each = std::uint64_t{CudaText::kThreads} * text_.per_thread;
      if (const Outcome o = InChunks("expression", text_.places, text_.operations, each); !o.ok()) return o;
    }
    for (std::size_t i = 0; i < text_.folds.size(); ++i) {
      if (const Outcome o = Fold(i); !o.ok()) return o;
    }
    return text_.checks.empty() ? Outcome::Ok() : Explain();
  }

 private:
  std::byte* Scratch(std::uint64_t offset) const { return call_.scratch().data() + offset; }

  Outcome RefuseNothing() const {
    std::uint64_t places = 1;
    for (const std::int64_t size : program_.space) places *= static_cast<std::uint64_t>(size);
    if (places > 0) return Outcome::Ok();
    for (const Output& output : program_.outputs) {
      const Reduction r = output.reduction;
      const bool extreme =
          r == Reduction::kMin || r == Reduction::kMax || r == Reduction::kArgMin || r == Reduction::kArgMax;
      if (extreme && ElementCount(output.signature.shape).value_or(0) > 0) {
        return Outcome::Invalid(output.name + ": the smallest or largest of no elements is not defined");
      }
    }
    return Outcome::Ok();
  }

  Outcome Scalar(const CudaSlot& slot) {
    const expression::Scalar& scalar = program_.scalars[static_cast<std::size_t>(slot.index)];
    const hotplate_param* const param = NumberOf(call_, scalar);
    if (param == nullptr) return Outcome::Failed("expression: the number " + scalar.name + " is missing");
    const bool is_integer = param->type != HOTPLATE_PARAM_FLOAT;
    if (is_integer && IsOutOfBounds(slot.dtype, param->integer)) {
      return Outcome::Invalid(scalar.name + ": the integer " + std::to_string(param->integer) +
                              " is out of bounds for " + std::string(Name(slot.dtype)));
    }
    block_.push_back(SlotBits(slot.dtype, param->integer, param->real, is_integer));
    return Outcome::Ok();
  }

  Outcome Fill() {
    const auto address = [this](const void* memory) { block_.push_back(reinterpret_cast<std::uint64_t>(memory)); };
    for (const CudaSlot& slot : text_.slots) {
      const auto i = static_cast<std::size_t>(slot.index);
      switch (slot.kind) {
        case Kind::kValue:
          block_.push_back(slot.value);
          break;
        case Kind::kInput:
          address(call_.inputs()[i].data);
          break;
        case Kind::kOutput:
          address(call_.OutputArray(program_.outputs[i].name).data);
          break;
        case Kind::kTrouble:
          address(Scratch(places_.trouble));
          break;
        case Kind::kPartials:
          address(Scratch(places_.partials[i]));
          break;
        case Kind::kMeans:
          address(Scratch(places_.means[i]));
          break;
        case Kind::kLanes:
          block_.push_back(places_.geometry[i].lanes);
          break;
        case Kind::kSplits:
          block_.push_back(places_.geometry[i].splits);
          break;
        case Kind::kMergeLanes:
          block_.push_back(places_.geometry[i].merge_lanes);
          break;
        case Kind::kScalar:
          if (const Outcome o = Scalar(slot); !o.ok()) return o;
      }
    }
    if (!text_.by_pointer) return Outcome::Ok();
    // The buffer may have inputs that are on their way.
    const std::span<std::byte> pinned = context_.pinned();
    const std::size_t bytes = block_.size() * 8;
    if (pinned.size() < bytes) {
      return Outcome::Failed("expression: it has " + std::to_string(block_.size()) + " numbers; at most " +
                             std::to_string(pinned.size() / 8) + " are possible");
    }
    if (const Outcome o = context_.Wait(); !o.ok()) return o;
    std::memcpy(pinned.data(), block_.data(), bytes);
    pointer_ = Scratch(places_.block);
    return context_.driver().Check(context_.driver().cuMemcpyHtoDAsync(reinterpret_cast<DevicePointer>(pointer_),
                                                                       pinned.data(), bytes, context_.stream()),
                                   "copying the expression's numbers");
  }

  Outcome Launch(const char* function, std::uint64_t blocks, unsigned threads, std::uint64_t begin, std::uint64_t end) {
    void* parameters[] = {text_.by_pointer ? static_cast<void*>(&pointer_) : block_.data(), &begin, &end};
    return context_.LaunchLoaded(function, blocks, threads, parameters);
  }

  // `each`: items of a block at a time.
  Outcome InChunks(const char* function, std::uint64_t items, double operations, std::uint64_t each) {
    const CudaTraits& traits = context_.traits();
    const std::uint64_t most = static_cast<std::uint64_t>(traits.multiprocessors) * kBlocksEach;
    const Chunks chunks =
        ChunksWithin(items, operations, traits.double_operations_per_ms, kChunkMs,
                     std::max<std::uint64_t>(static_cast<std::uint64_t>(kLeastChunk / operations), most * each / 4));
    return context_.InChunks(chunks, [&](std::uint64_t begin, std::uint64_t end) {
      return Launch(function, std::min(CeilDiv(end - begin, each), most), CudaText::kThreads, begin, end);
    });
  }

  Outcome Fold(std::size_t i) {
    const CudaFold& fold = text_.folds[i];
    const FoldGeometry& how = places_.geometry[i];
    if (fold.outputs == 0) return Outcome::Ok();
    const double operations = 4 + text_.operations * static_cast<double>(fold.count) / static_cast<double>(how.splits);
    const std::string number = std::to_string(i);
    const Outcome folded =
        InChunks(("fold_" + number).c_str(), fold.outputs * how.splits, operations, CudaText::kThreads / how.lanes);
    if (!folded.ok() || how.splits == 1) return folded;
    return InChunks(("merge_" + number).c_str(), fold.outputs, static_cast<double>(how.splits),
                    CudaText::kThreads / how.merge_lanes);
  }

  Outcome Explain() {
    if (const Outcome o = Launch("explain", 1, 1, 0, 0); !o.ok()) return o;
    void* const words = const_cast<std::uint64_t*>(context_.host_words());
    const auto from = reinterpret_cast<DevicePointer>(Scratch(places_.trouble));
    return context_.driver().Check(
        context_.driver().cuMemcpyDtoHAsync(words, from, CudaText::kTroubleWords * 8, context_.stream()),
        "reading what was wrong");
  }

  const Call& call_;
  CudaContext& context_;
  const Program& program_;
  const CudaText& text_;
  const Places places_;
  std::vector<std::uint64_t> block_;
  std::byte* pointer_ = nullptr;
};

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits& traits) {
  const std::shared_ptr<const Printed> printed = PrintedOf(call);
  return printed->error.empty() ? Places(printed->text, traits).bytes : 0;
}

Outcome LaneScratchCuda(const Call& call, CudaContext& context, std::uint64_t& bytes) {
  const std::shared_ptr<const Printed> printed = PrintedOf(call);
  if (!printed->error.empty()) return Outcome::Failed(printed->error);
  bytes = Places(printed->text, context.traits()).bytes;
  return context.LoadCode(printed->text.source);
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const std::shared_ptr<const Printed> printed = PrintedOf(call);
  if (!printed->error.empty()) return Outcome::Failed(printed->error);
  return Launches(call, context, *printed).Run();
}

// In the same words as the CPU's.
Outcome FinishCuda(const Call& call, CudaContext& context) {
  if (context.host_words()[0] == CudaText::kNoTrouble) return Outcome::Ok();
  const std::shared_ptr<const Printed> printed = PrintedOf(call);
  const std::uint64_t number = context.host_words()[1];
  if (number >= printed->text.checks.size())
    return Outcome::Failed("expression: something was wrong that cannot be named");
  const CudaCheck& check = printed->text.checks[static_cast<std::size_t>(number)];
  if (check.gather < 0) {
    return Outcome::Invalid("integers to negative integer powers are not allowed; convert one to a float");
  }
  const Gather& gather = printed->program.gathers[static_cast<std::size_t>(check.gather)];
  return Outcome::Invalid(std::string(call.inputs()[static_cast<std::size_t>(gather.input)].name) + ": index " +
                          std::to_string(static_cast<std::int64_t>(context.host_words()[2])) +
                          " is out of bounds for axis " + std::to_string(check.axis) + " with size " +
                          std::to_string(gather.shape[static_cast<std::size_t>(check.axis)]));
}

}  // namespace hotplate::expression
