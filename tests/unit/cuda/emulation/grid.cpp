#include "tests/unit/cuda/emulation/grid.h"

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

EmulatedIndex threadIdx, blockIdx, blockDim, gridDim;

namespace hotplate::emulation {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "emulated kernel, block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
  std::abort();
}

namespace fcontext = boost::context::detail;  // what Boost's fibers are made of: private, and the same since 1.61

struct Stack {
  fcontext::fcontext_t context = nullptr;  // where it goes on, while it does not run
  std::unique_ptr<char[]> memory;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
#endif
};

// Notes where the stack that was switched from goes on.
void Left(fcontext::transfer_t by) { static_cast<Stack*>(by.data)->context = by.fctx; }

// Switches between stacks, and tells AddressSanitizer. swapcontext would ask the kernel about signals each time, which
// takes longer than most of what a thread does until it waits.
void Switch(Stack& from, Stack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake, to.bottom, to.bytes);
#endif
  Left(fcontext::jump_fcontext(to.context, &from));
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

struct Thread {
  Stack stack;
  enum { kReady, kAtBlock, kAtWarp, kEnded } state = kReady;
  const char* operation = nullptr;
  std::uint64_t brought = 0;
};

class Block {
 public:
  void Run(unsigned threads, const std::vector<unsigned>& order, const std::function<void()>& body);
  void Wait(decltype(Thread::state) state);
  bool Any(const char* operation, bool brought);
  const Exchanged& Exchange(const char* operation, std::uint64_t brought);

 private:
  static void Enter(fcontext::transfer_t by);
  void Begin(unsigned index);
  void Resume(unsigned index);
  bool ReleaseWarps();
  bool ReleaseBlock();

  std::deque<Thread> threads_;        // none of which moves
  std::vector<Exchanged> exchanged_;  // by warp
  Stack scheduler_;
  bool any_ = false;  // at the last barrier of the block
  unsigned count_ = 0, running_ = 0;
  const std::function<void()>* body_ = nullptr;
};

Order order_in_use = Order::kForward;
bool only_some = false;
Block* block_running = nullptr;

void Block::Enter(fcontext::transfer_t by) {
  Left(by);
  Block& block = *block_running;
  Thread& self = block.threads_[block.running_];
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &block.scheduler_.bottom, &block.scheduler_.bytes);
#endif
  // One body after another, a thread of a block each: a stack costs AddressSanitizer more to make than a body to run.
  for (;;) {
    (*block.body_)();
    self.state = Thread::kEnded;
    Switch(self.stack, block.scheduler_);
  }
}

void Block::Begin(unsigned index) {
  Stack& stack = threads_[index].stack;
  threads_[index].state = Thread::kReady;
  if (stack.memory != nullptr) return;
  stack.memory = std::make_unique<char[]>(kStackBytes);
  stack.context = fcontext::make_fcontext(stack.memory.get() + kStackBytes, kStackBytes, &Block::Enter);
#if defined(__SANITIZE_ADDRESS__)
  stack.bottom = stack.memory.get();
  stack.bytes = kStackBytes;
#endif
}

void Block::Resume(unsigned index) {
  running_ = index;
  threadIdx.x = index;
  Switch(scheduler_, threads_[index].stack);
}

void Block::Wait(decltype(Thread::state) state) {
  Thread& self = threads_[running_];
  self.state = state;
  Switch(self.stack, scheduler_);
}

bool Block::Any(const char* operation, bool brought) {
  Thread& self = threads_[running_];
  self.operation = operation;
  self.brought = brought;
  Wait(Thread::kAtBlock);
  return any_;
}

const Exchanged& Block::Exchange(const char* operation, std::uint64_t brought) {
  Thread& self = threads_[running_];
  self.operation = operation;
  self.brought = brought;
  const unsigned warp = running_ / kLanes;
  Wait(Thread::kAtWarp);
  return exchanged_[warp];
}

// Lets the warps go on whose threads have all arrived. False if there is none.
bool Block::ReleaseWarps() {
  bool released = false;
  for (unsigned first = 0; first < count_; first += kLanes) {
    const unsigned end = std::min(first + kLanes, count_);
    const char* operation = nullptr;
    bool all = true;
    for (unsigned i = first; i < end; ++i) {
      const Thread& thread = threads_[i];
      if (thread.state == Thread::kEnded) continue;
      all = all && thread.state == Thread::kAtWarp && (operation == nullptr || operation == thread.operation);
      operation = thread.operation;
    }
    if (!all || operation == nullptr) continue;
    for (unsigned i = first; i < end; ++i) {
      const bool here = threads_[i].state == Thread::kAtWarp;
      exchanged_[first / kLanes][i - first] = here ? threads_[i].brought : 0;
      if (here) threads_[i].state = Thread::kReady;
    }
    released = true;
  }
  return released;
}

bool Block::ReleaseBlock() {
  const char* operation = nullptr;
  bool any = false;
  for (unsigned i = 0; i < count_; ++i) {
    const Thread& thread = threads_[i];
    if (thread.state == Thread::kEnded) continue;
    if (thread.state != Thread::kAtBlock || (operation != nullptr && operation != thread.operation)) return false;
    operation = thread.operation;
    any = any || thread.brought != 0;
  }
  any_ = any;
  for (unsigned i = 0; i < count_; ++i) {
    if (threads_[i].state == Thread::kAtBlock) threads_[i].state = Thread::kReady;
  }
  return operation != nullptr;
}

void Block::Run(unsigned threads, const std::vector<unsigned>& order, const std::function<void()>& body) {
  block_running = this;
  body_ = &body;
  count_ = threads;
  if (threads_.size() < threads) threads_.resize(threads);
  exchanged_.assign((threads + kLanes - 1) / kLanes, Exchanged{});
  for (unsigned i = 0; i < threads; ++i) Begin(i);
  for (;;) {
    bool ended = true;
    for (const unsigned i : order) {
      while (threads_[i].state == Thread::kReady) Resume(i);
      ended = ended && threads_[i].state == Thread::kEnded;
    }
    if (ended) return;
    if (!ReleaseWarps() && !ReleaseBlock()) Die("threads wait at different barriers or operations");
  }
}

std::vector<unsigned> InOrder(unsigned count, Order order, bool some = false) {
  std::vector<unsigned> indexes;
  if (some && count > 5) {
    indexes = {0, 1, count / 2, count - 2, count - 1};
  } else {
    indexes.resize(count);
    std::iota(indexes.begin(), indexes.end(), 0u);
  }
  if (order == Order::kBackward) std::reverse(indexes.begin(), indexes.end());
  if (order == Order::kShuffled) std::shuffle(indexes.begin(), indexes.end(), std::mt19937(count));
  return indexes;
}

}  // namespace

void UseOrder(Order order) { order_in_use = order; }

void RunOnlySome(bool some) { only_some = some; }

void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  static Block block;  // keeps its stacks
  gridDim = {blocks, 1, 1};
  blockDim = {threads, 1, 1};
  const std::vector<unsigned> order = InOrder(threads, order_in_use);
  for (const unsigned i : InOrder(blocks, order_in_use, only_some)) {
    blockIdx = {i, 0, 0};
    block.Run(threads, order, thread);
  }
}

bool WaitForBlock(const char* operation, bool brought) { return block_running->Any(operation, brought); }

const Exchanged& WaitForWarp(const char* operation, unsigned mask, std::uint64_t brought) {
  if (mask != 0xffffffff) Die("a warp-wide operation for a part of the warp: not emulated");
  return block_running->Exchange(operation, brought);
}

}  // namespace hotplate::emulation
