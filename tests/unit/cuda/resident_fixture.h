// What tests of resident arrays share: arrays of the host that have identities, tasks on them, and a device of the fake
// driver's with lanes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/devices/cuda/executor/resident_arrays.h"
#include "tests/unit/cuda/executor_fixture.h"

namespace hotplate {

// An array of the host: identity 0 for one that nobody knows by name.
struct HostArray {
  HostArray(std::uint64_t the_identity, std::size_t n, float first = 1) : identity(the_identity), values(n) {
    std::iota(values.begin(), values.end(), first);
  }
  hotplate_array View(const char* name) {
    hotplate_array array = FloatView(name, values);
    array.identity = identity;
    array.absent = may_stay ? &absent : nullptr;
    return array;
  }
  std::uint64_t identity;
  std::vector<float> values;
  bool may_stay = false;  // as an output: on the device alone
  std::uint32_t absent = 0;
};

// A host array that may stay away; what it holds before it is fetched is wrong.
struct Output : HostArray {
  Output(std::uint64_t the_identity, std::size_t n) : HostArray(the_identity, n) {
    may_stay = true;
    std::fill(values.begin(), values.end(), -1.0F);
  }
  bool is_absent() { return std::atomic_ref(absent).load() != 0; }
};

// One run of selu (y = 2x where x > 0, as all values here are) or vector_add.
struct Attempt {
  Outcome On(LaneExecutor& lane, const char* kernel, std::vector<HostArray*> in, HostArray& out) {
    const bool binary = in.size() == 2;
    hotplate_array inputs[2] = {in[0]->View(binary ? "a" : "x"), in[in.size() - 1]->View("b")};
    hotplate_array output = out.View(binary ? "c" : "y");
    hotplate_param params[2] = {};
    params[0].name = "alpha";
    params[1].name = "lambda";
    params[1].real = 2;
    hotplate_call call{};
    call.params = params;
    call.param_count = 2;
    call.inputs = inputs;
    call.input_count = static_cast<int>(in.size());
    call.outputs = &output;
    call.output_count = 1;
    lane.Run(*ThisKernelSide().Find(kernel), call, control, report);
    return Outcome(report.outcome);
  }
  void Cancel() { std::atomic_ref(control.cancel).store(1); }

  hotplate_control control{};
  hotplate_cuda_report report{};
};

inline ::testing::AssertionResult Doubled(const HostArray& out, const HostArray& in) {
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    if (out.values[i] != 2 * in.values[i]) return ::testing::AssertionFailure() << out.values[i] << " at " << i;
  }
  return ::testing::AssertionSuccess();
}

class ResidentTest : public ExecutorTest {
 protected:
  void Open(const FakeScript& script = {}, int lanes = 1) {
    const Outcome why = ExecutorTest::Open(script, lanes);
    ASSERT_TRUE(why.ok()) << why.message();
  }
  // A device whose tasks have so much.
  void OpenWith(std::uint64_t bytes, int lanes = 1) {
    FakeScript script;
    script.memory_bytes = bytes + 256 * kMiB;
    Open(script, lanes);
    ASSERT_EQ(device_->info().memory_bytes, bytes);
  }
  void Double(HostArray& in, HostArray& out, std::size_t lane = 0) {
    Attempt run;
    const Outcome outcome = run.On(*lanes_[lane], "selu", {&in}, out);
    ASSERT_TRUE(outcome.ok()) << outcome.message();
    EXPECT_TRUE(Doubled(out, in));
  }
  // Whether a run of it copies it in.
  bool IsCopied(HostArray& in) {
    HostArray out(0, in.values.size());
    fake_.ForgetCalls();
    Double(in, out);
    return CopiedIn() > 0;
  }
  bool Send(const HostArray& array, std::size_t from, std::size_t to) {
    return device_->Upload(array.identity, array.values.size() * 4, from * 4,
                           reinterpret_cast<const std::byte*>(array.values.data() + from), (to - from) * 4);
  }

  // Bytes.
  std::uint64_t Copied(const std::string& name) {
    std::uint64_t sum = 0;
    for (const std::string& call : fake_.Calls()) {
      if (call.starts_with(name)) sum += std::stoull(call.substr(name.size() + 1));
    }
    return sum;
  }
  std::uint64_t CopiedIn() { return Copied("cuMemcpyHtoDAsync"); }
};

}  // namespace hotplate
