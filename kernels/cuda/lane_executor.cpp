#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/cuda/executor.h"

namespace hotplate {
namespace {

// Each event that is waited for lets the waiting thread sleep (WaitFor).
Outcome MakeEvent(unsigned flags, OwnedEvent& event) {
  cudaEvent_t raw = nullptr;
  if (const Outcome o = ToOutcome(cudaEventCreateWithFlags(&raw, flags | cudaEventBlockingSync), "event"); !o.ok()) {
    return o;
  }
  event.reset(raw);
  return Outcome::Ok();
}

// "what: message", for a step of a task.
Outcome Prefixed(const char* what, const Outcome& outcome) {
  hotplate_outcome plain = outcome.plain();
  std::snprintf(plain.message, sizeof plain.message, "%s: %.200s", what, std::string(outcome.message()).c_str());
  return Outcome(plain);
}

Outcome Elapsed(const OwnedEvent& from, const OwnedEvent& to, std::uint64_t& ns) {
  float ms = 0;
  if (const Outcome o = ToOutcome(cudaEventElapsedTime(&ms, from.get(), to.get()), "timing"); !o.ok()) return o;
  ns = static_cast<std::uint64_t>(static_cast<double>(ms) * 1e6);
  return Outcome::Ok();
}

}  // namespace

Outcome LayOut(const CudaLauncher& launcher, const hotplate_call& call, const CudaTraits& traits, TaskLayout& layout) {
  Arena arena;
  std::uint64_t offset = 0;
  const Call view(call);
  bool fits = true;
  for (const hotplate_array& array : view.inputs()) fits = fits && arena.Add(array.bytes, &offset);
  for (const hotplate_array& array : view.outputs()) fits = fits && arena.Add(array.bytes, &offset);
  layout.scratch_bytes = launcher.scratch_bytes == nullptr ? 0 : launcher.scratch_bytes(view, traits);
  fits = fits && arena.Add(layout.scratch_bytes, &layout.scratch_offset);
  layout.bytes = arena.bytes();
  return fits ? Outcome::Ok() : Outcome::Invalid("the call's arrays together do not fit 64-bit sizes");
}

Outcome Staging::Initialise() {
  for (Buffer& buffer : buffers_) {
    void* bytes = nullptr;
    if (const Outcome o = ToOutcome(cudaHostAlloc(&bytes, kBufferBytes, cudaHostAllocDefault), "pinned host memory");
        !o.ok()) {
      return o;
    }
    buffer.bytes.reset(static_cast<std::byte*>(bytes));
    if (const Outcome o = MakeEvent(cudaEventDisableTiming, buffer.copied); !o.ok()) return o;
  }
  return Outcome::Ok();
}

Outcome Staging::ToDevice(std::byte* device, const std::byte* host, std::size_t bytes, const CudaContext& context) {
  const Chunks chunks{bytes, kBufferBytes};
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    if (context.CancelRequested()) return Outcome::Cancelled();
    const std::size_t begin = chunks.Begin(i), size = chunks.End(i) - begin;
    Buffer& buffer = buffers_[next_];
    next_ = 1 - next_;
    if (const Outcome o = ToOutcome(WaitFor(buffer.copied.get()), "staging"); !o.ok()) return o;
    std::memcpy(buffer.bytes.get(), host + begin, size);
    if (const Outcome o = ToOutcome(
            cudaMemcpyAsync(device + begin, buffer.bytes.get(), size, cudaMemcpyHostToDevice, context.stream()),
            "copy");
        !o.ok()) {
      return o;
    }
    if (const Outcome o = ToOutcome(cudaEventRecord(buffer.copied.get(), context.stream()), "staging"); !o.ok()) {
      return o;
    }
  }
  return Outcome::Ok();
}

Outcome Staging::FromDevice(std::byte* host, const std::byte* device, std::size_t bytes, const CudaContext& context) {
  const Chunks chunks{bytes, kBufferBytes};
  const std::uint64_t count = chunks.count();
  // Chunk i comes over the bus while chunk i - 1 is copied out of its buffer; i - 2 has left the buffer that i uses.
  for (std::uint64_t i = 0; count > 0 && i <= count; ++i) {
    if (i < count) {
      if (context.CancelRequested()) return Outcome::Cancelled();
      const std::size_t begin = chunks.Begin(i);
      Buffer& buffer = buffers_[i % 2];
      if (const Outcome o = ToOutcome(cudaMemcpyAsync(buffer.bytes.get(), device + begin, chunks.End(i) - begin,
                                                      cudaMemcpyDeviceToHost, context.stream()),
                                      "copy");
          !o.ok()) {
        return o;
      }
      if (const Outcome o = ToOutcome(cudaEventRecord(buffer.copied.get(), context.stream()), "staging"); !o.ok()) {
        return o;
      }
    }
    if (i == 0) continue;
    const std::size_t begin = chunks.Begin(i - 1);
    const Buffer& buffer = buffers_[(i - 1) % 2];
    if (const Outcome o = ToOutcome(WaitFor(buffer.copied.get()), "staging"); !o.ok()) return o;
    std::memcpy(host + begin, buffer.bytes.get(), chunks.End(i - 1) - begin);
  }
  return Outcome::Ok();
}

std::unique_ptr<LaneExecutor> LaneExecutor::Open(DeviceExecutor& device, Outcome& why) {
  std::unique_ptr<LaneExecutor> lane(new LaneExecutor(device));
  why = lane->Initialise();
  if (!why.ok()) lane.reset();
  return lane;
}

Outcome LaneExecutor::Initialise() {
  if (const Outcome o = device_.Usable(); !o.ok()) return o;
  if (const Outcome o = ToOutcome(cudaSetDevice(device_.index()), "device"); !o.ok()) return o;
  cudaStream_t stream = nullptr;
  if (const Outcome o = ToOutcome(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"); !o.ok()) {
    return o;
  }
  stream_.reset(stream);
  for (OwnedEvent& event : times_) {
    if (const Outcome o = MakeEvent(cudaEventDefault, event); !o.ok()) return o;
  }
  for (OwnedEvent& event : marks_) {
    if (const Outcome o = MakeEvent(cudaEventDisableTiming, event); !o.ok()) return o;
  }
  cublasLtHandle_t blas = nullptr;
  if (const cublasStatus_t status = cublasLtCreate(&blas); status != CUBLAS_STATUS_SUCCESS) {
    return Outcome::Failed(std::string("cuBLASLt: ") + cublasLtGetStatusString(status));
  }
  blas_.reset(blas);
  void* words = nullptr;
  if (const Outcome o = ToOutcome(cudaHostAlloc(&words, 64, cudaHostAllocMapped), "pinned host memory"); !o.ok()) {
    return o;
  }
  host_words_.reset(static_cast<std::byte*>(words));
  return staging_.Initialise();
}

LaneExecutor::~LaneExecutor() {
  // Its stream and events may be used by work in flight until here.
  static_cast<void>(cudaSetDevice(device_.index()));
  if (stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream_.get()));
}

Outcome LaneExecutor::Allocate(std::uint64_t bytes, std::byte** block) {
  void* memory = nullptr;
  cudaError_t error = cudaMallocFromPoolAsync(&memory, bytes, device_.pool(), stream_.get());
  if (error == cudaErrorMemoryAllocation) {
    // What the pool keeps for other sizes may be in the way: give it back, and try once more.
    static_cast<void>(cudaGetLastError());
    if (const Outcome o = ToOutcome(cudaMemPoolTrimTo(device_.pool(), 0), "memory pool"); !o.ok()) return o;
    error = cudaMallocFromPoolAsync(&memory, bytes, device_.pool(), stream_.get());
  }
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    char text[200];
    std::snprintf(text, sizeof text, "out of device memory: %llu bytes needed, %llu bytes free on gpu%d",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(device_.FreeBytes()),
                  device_.index());
    return Outcome::OutOfMemory(text);
  }
  *block = static_cast<std::byte*>(memory);
  return ToOutcome(error, "device memory");
}

void LaneExecutor::Run(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
                       hotplate_cuda_report& report) {
  report.host_to_device_ns = report.kernel_ns = report.device_to_host_ns = HOTPLATE_CUDA_ABSENT;
  const auto run = [&]() -> Outcome {
    if (const Outcome o = device_.Usable(); !o.ok()) return o;
    if (const Outcome o = ToOutcome(cudaSetDevice(device_.index()), "device"); !o.ok()) return o;
    TaskLayout layout;
    if (const Outcome o = LayOut(launcher, call, device_.traits(), layout); !o.ok()) return o;
    std::byte* block = nullptr;
    if (layout.bytes > 0) {
      if (const Outcome o = Allocate(layout.bytes, &block); !o.ok()) return o;
    }
    const CudaContext::Handles handles{.stream = stream_.get(),
                                       .blas = blas_.get(),
                                       .marks = {marks_[0].get(), marks_[1].get()},
                                       .host_words = reinterpret_cast<std::uint64_t*>(host_words_.get())};
    CudaContext context(device_.traits(), handles, control);
    Outcome outcome = RunInBlock(launcher, call, layout, block, context, report);
    // The block goes back after the work that may still use it, and the pinned buffers are idle when the next task
    // comes, however this one ended.
    const Outcome freed =
        block == nullptr ? Outcome::Ok() : ToOutcome(cudaFreeAsync(block, stream_.get()), "freeing device memory");
    const Outcome idle = ToOutcome(cudaStreamSynchronize(stream_.get()), "waiting for the device");
    if (outcome.ok() || outcome.code() == HOTPLATE_CANCELLED) {
      if (!freed.ok()) outcome = freed;
      if (!idle.ok()) outcome = idle;
    }
    return outcome;
  };
  Outcome outcome = run();
  if (!outcome.ok() && outcome.code() != HOTPLATE_CANCELLED && outcome.code() != HOTPLATE_DEVICE_LOST) {
    outcome = device_.Judge(outcome, launcher.name, stream_.get());
  }
  report.outcome = outcome.plain();
}

Outcome LaneExecutor::RunInBlock(const CudaLauncher& launcher, const hotplate_call& host_call, const TaskLayout& layout,
                                 std::byte* block, CudaContext& context, hotplate_cuda_report& report) {
  const Call host(host_call);
  std::vector<hotplate_array> inputs(host.inputs().begin(), host.inputs().end());
  std::vector<hotplate_array> outputs(host.outputs().begin(), host.outputs().end());
  std::uint64_t in_bytes = 0, out_bytes = 0, offset = 0;
  Arena arena;  // the same order as in LayOut
  const auto place = [&](hotplate_array& array, std::uint64_t& sum) {
    if (!arena.Add(array.bytes, &offset)) return false;
    array.data = block + offset;
    sum += array.bytes;
    return true;
  };
  bool placed = true;
  for (hotplate_array& array : inputs) placed = placed && place(array, in_bytes);
  for (hotplate_array& array : outputs) placed = placed && place(array, out_bytes);
  if (!placed) return Outcome::Invalid("the call's arrays together do not fit 64-bit sizes");

  hotplate_call device_call = host_call;
  device_call.inputs = inputs.data();
  device_call.outputs = outputs.data();
  device_call.scratch = block + layout.scratch_offset;
  device_call.scratch_bytes = layout.scratch_bytes;

  const auto mark = [&](int i) { return ToOutcome(cudaEventRecord(times_[i].get(), context.stream()), "timing"); };
  if (const Outcome o = mark(0); !o.ok()) return o;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // An array that is given twice (a matrix times its own transpose) is copied once.
    const hotplate_array& from = host.inputs()[i];
    const auto same = [&from](const hotplate_array& other) {
      return other.data == from.data && other.bytes == from.bytes;
    };
    const auto first = std::find_if(host.inputs().begin(), host.inputs().begin() + i, same);
    if (first != host.inputs().begin() + i) {
      inputs[i].data = inputs[first - host.inputs().begin()].data;
      continue;
    }
    const Outcome copied =
        staging_.ToDevice(static_cast<std::byte*>(inputs[i].data), static_cast<const std::byte*>(host.inputs()[i].data),
                          inputs[i].bytes, context);
    if (copied.code() == HOTPLATE_CANCELLED) return copied;
    if (!copied.ok()) return Prefixed("copying the inputs to the device", copied);
  }
  if (const Outcome o = mark(1); !o.ok()) return o;
  if (context.CancelRequested()) return Outcome::Cancelled();
  if (const Outcome o = launcher.run(Call(device_call), context); !o.ok()) return o;
  if (const Outcome o = mark(2); !o.ok()) return o;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Outcome copied =
        staging_.FromDevice(static_cast<std::byte*>(host.outputs()[i].data),
                            static_cast<const std::byte*>(outputs[i].data), outputs[i].bytes, context);
    if (copied.code() == HOTPLATE_CANCELLED) return copied;
    // The first wait after the kernel: its own error, if it has one, shows here.
    if (!copied.ok()) return Prefixed("running the kernel and copying its outputs back", copied);
  }
  if (const Outcome o = mark(3); !o.ok()) return o;
  if (const Outcome o = ToOutcome(WaitFor(times_[3].get()), "running the kernel"); !o.ok()) return o;

  if (const Outcome o = Elapsed(times_[1], times_[2], report.kernel_ns); !o.ok()) return o;
  if (in_bytes > 0) {
    if (const Outcome o = Elapsed(times_[0], times_[1], report.host_to_device_ns); !o.ok()) return o;
  }
  if (out_bytes > 0) {
    if (const Outcome o = Elapsed(times_[2], times_[3], report.device_to_host_ns); !o.ok()) return o;
  }
  context.ReportProgress(1);
  return Outcome::Ok();
}

}  // namespace hotplate
