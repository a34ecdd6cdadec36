// Times kernels through a lane of the CPU device, as the daemon runs them, on request: reads lines "NAME REPETITIONS"
// from standard input and answers each with one line of that many kernel times in nanoseconds. A script can so
// alternate it with its peers (compare.py). "list" answers with the names; "save NAME FOLDER" writes the inputs as
// .npy, so that the peer works on the same data.
#include <omp.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/array/host_buffer.h"
#include "kernels/array/npy.h"
#include "kernels/device.h"

namespace hotplate {
namespace {

struct Benchmark {
  std::string name;
  std::string kernel;
  std::map<std::string, ParamValue> params;
  std::vector<Signature> inputs;
  bool same_input = false;  // the second input is the first one
};

std::vector<Benchmark> Benchmarks() {
  const auto f32 = [](Shape shape) { return Signature{DType::kFloat32, std::move(shape)}; };
  const auto f64 = [](Shape shape) { return Signature{DType::kFloat64, std::move(shape)}; };
  const auto i32 = [](Shape shape) { return Signature{DType::kInt32, std::move(shape)}; };
  const auto i64 = [](Shape shape) { return Signature{DType::kInt64, std::move(shape)}; };
  constexpr std::int64_t kMillion = 1'000'000;
  return {
      {"vector_add_f32_4", "vector_add", {}, {f32({4}), f32({4})}},
      {"vector_add_i32_4096", "vector_add", {}, {i32({4096}), i32({4096})}},
      {"vector_add_f32_1e6", "vector_add", {}, {f32({kMillion}), f32({kMillion})}},
      {"vector_add_f32_5e7", "vector_add", {}, {f32({50 * kMillion}), f32({50 * kMillion})}},
      {"vector_add_f64_2e7", "vector_add", {}, {f64({20 * kMillion}), f64({20 * kMillion})}},
      {"trig_identity_f32_1e7", "trig_identity", {}, {f32({10 * kMillion})}},
      {"trig_identity_i64_1e7", "trig_identity", {}, {i64({10 * kMillion})}},
      {"selu_f32_1e6", "selu", {}, {f32({kMillion})}},
      {"selu_f32_1e7", "selu", {}, {f32({10 * kMillion})}},
      {"selu_f64_1e7", "selu", {}, {f64({10 * kMillion})}},
      {"integrate2d_4096", "integrate2d", {{"n", std::int64_t{4096}}}, {}},
      {"mandelbrot_500", "mandelbrot", {{"resolution", std::int64_t{500}}, {"max_iterations", std::int64_t{200}}}, {}},
      {"matmul_f32_100", "matmul", {}, {f32({100, 100}), f32({100, 100})}},
      {"matmul_f32_1000", "matmul", {}, {f32({1000, 1000}), f32({1000, 1000})}},
      {"matmul_f64_1000", "matmul", {}, {f64({1000, 1000}), f64({1000, 1000})}},
      {"matmul_f32_3000", "matmul", {}, {f32({3000, 3000}), f32({3000, 3000})}},
      {"matmul_f32_3000_own_transpose", "matmul", {{"transpose_b", true}}, {f32({3000, 3000})}, true},
      {"matmul_f32_4000_by_vector", "matmul", {}, {f32({4000, 4000}), f32({4000, 1})}},
  };
}

std::shared_ptr<HostBuffer> RandomArray(const Signature& signature, std::mt19937_64& random) {
  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(*ByteSize(signature));
  const std::size_t count = *ElementCount(signature.shape);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 20;
    std::byte* element = buffer->data() + i * SizeOf(signature.dtype);
    switch (signature.dtype) {
      case DType::kFloat32:
        *reinterpret_cast<float*>(element) = static_cast<float>(value);
        break;
      case DType::kFloat64:
        *reinterpret_cast<double*>(element) = value;
        break;
      case DType::kInt32:
        *reinterpret_cast<std::int32_t*>(element) = static_cast<std::int32_t>(value * 1000);
        break;
      default:
        *reinterpret_cast<std::int64_t*>(element) = static_cast<std::int64_t>(value * 1000);
    }
  }
  return buffer;
}

// A call with its memory, ready to be run again and again.
class Ready {
 public:
  Ready(const Benchmark& benchmark, const Device& device) : spec_(**BuiltinCatalog().Find(benchmark.kernel)) {
    std::map<std::string, Signature> signatures;
    for (std::size_t i = 0; i < spec_.inputs().size(); ++i) {
      signatures[spec_.inputs()[i].name] = benchmark.inputs[benchmark.same_input ? 0 : i];
    }
    call_ = spec_.Bind(benchmark.params, signatures, HOTPLATE_PRECISION_DEFAULT).value();
    task_.scratch_bytes = device.Plan(call_).value().scratch_bytes;

    std::mt19937_64 random(20'240'501);
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      buffers_.push_back(benchmark.same_input && i > 0 ? buffers_.front() : RandomArray(call_.inputs[i], random));
      inputs_.push_back(Plain(spec_.inputs()[i].name, call_.inputs[i], *buffers_.back()));
    }
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      buffers_.push_back(HostBuffer::Allocate(*ByteSize(call_.outputs[i])));
      std::memset(buffers_.back()->data(), 0, buffers_.back()->size());
      outputs_.push_back(Plain(spec_.outputs()[i].name, call_.outputs[i], *buffers_.back()));
    }
    for (std::size_t i = 0; i < call_.params.size(); ++i) {
      const ParamValue& value = call_.params[i];
      hotplate_param plain{};
      plain.name = spec_.params()[i].name.c_str();
      plain.type = static_cast<std::int32_t>(spec_.params()[i].type);
      if (const auto* integer = std::get_if<std::int64_t>(&value)) plain.integer = *integer;
      if (const auto* real = std::get_if<double>(&value)) plain.real = *real;
      if (const auto* boolean = std::get_if<bool>(&value)) plain.integer = *boolean;
      if (const auto* text = std::get_if<std::string>(&value)) plain.text = text->c_str();
      params_.push_back(plain);
    }
    hash_ = spec_.Hash();
    task_.kernel = spec_.name().c_str();
    task_.spec_hash = hash_.c_str();
    task_.call.params = params_.data();
    task_.call.inputs = inputs_.data();
    task_.call.outputs = outputs_.data();
    task_.call.param_count = static_cast<std::int32_t>(params_.size());
    task_.call.input_count = static_cast<std::int32_t>(inputs_.size());
    task_.call.output_count = static_cast<std::int32_t>(outputs_.size());
  }

  // The kernel's time as the receipt has it; for `whole`, the time of the whole Lane::Run.
  std::uint64_t Run(Lane& lane, bool whole) {
    TaskControl control;
    const auto start = std::chrono::steady_clock::now();
    const Report report = lane.Run(task_, control);
    const auto end = std::chrono::steady_clock::now();
    if (!report.outcome.ok()) {
      std::cerr << spec_.name() << ": " << report.outcome.message() << "\n";
      std::exit(1);
    }
    return whole ? static_cast<std::uint64_t>((end - start).count()) : report.kernel_ns.value();
  }

  void Save(const std::string& folder) const {
    for (const hotplate_array& array : inputs_) {
      const Signature signature{static_cast<DType>(array.dtype), Shape(array.shape, array.shape + array.rank)};
      std::variant<AtomicFile, NpyError> file = AtomicFile::Create(folder + "/" + array.name + ".npy");
      if (auto* error = std::get_if<NpyError>(&file)) {
        std::cerr << error->message << "\n";
        std::exit(1);
      }
      const std::string header = NpyHeaderFor(signature);
      AtomicFile& out = std::get<AtomicFile>(file);
      out.Write(std::as_bytes(std::span(header)));
      out.Write({static_cast<const std::byte*>(array.data), array.bytes});
      out.Commit();
    }
  }

 private:
  static hotplate_array Plain(const std::string& name, const Signature& signature, HostBuffer& buffer) {
    hotplate_array plain{};
    plain.name = name.c_str();
    plain.dtype = static_cast<std::int32_t>(signature.dtype);
    plain.rank = static_cast<std::int32_t>(signature.shape.size());
    std::copy(signature.shape.begin(), signature.shape.end(), plain.shape);
    plain.data = buffer.data();
    plain.bytes = buffer.size();
    return plain;
  }

  const KernelSpec& spec_;
  BoundCall call_;
  std::string hash_;
  std::vector<std::shared_ptr<HostBuffer>> buffers_;
  std::vector<hotplate_param> params_;
  std::vector<hotplate_array> inputs_, outputs_;
  Task task_;
};

// The bare peer for whatever is bound by memory: 50 million floats, c = a + s * b.
class Triad {
 public:
  static constexpr std::size_t kCount = 50'000'000;

  Triad() {
    for (float*& array : arrays_) {
      buffers_.push_back(HostBuffer::Allocate(kCount * sizeof(float)));
      array = reinterpret_cast<float*>(buffers_.back()->data());
      for (std::size_t i = 0; i < kCount; ++i) array[i] = 1;
    }
  }

  std::uint64_t Run() {
    const float *a = arrays_[0], *b = arrays_[1];
    float* c = arrays_[2];
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for simd
    for (std::size_t i = 0; i < kCount; ++i) c[i] = a[i] + 3.0f * b[i];
    return static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start).count());
  }

 private:
  std::vector<std::shared_ptr<HostBuffer>> buffers_;
  float* arrays_[3];
};

int Serve() {
  const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 1});
  const std::unique_ptr<Lane> lane = device->OpenLane().value();
  const std::vector<Benchmark> benchmarks = Benchmarks();
  // One at a time is kept, beside the triad: the largest take half a gigabyte.
  std::string ready_name;
  std::unique_ptr<Ready> ready;
  std::unique_ptr<Triad> triad;

  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name, folder;
    int repetitions = 1;
    words >> name;
    if (name == "list") {
      std::cout << device->info().name << "\t" << device->info().instruction_set << "\t"
                << device->info().threads_per_lane;
      for (const Benchmark& benchmark : benchmarks) std::cout << "\t" << benchmark.name;
      std::cout << std::endl;
      continue;
    }
    const bool save = name == "save";
    if (save) {
      words >> name >> folder;
    } else {
      words >> repetitions;
    }
    if (name == "triad") {
      if (triad == nullptr) triad = std::make_unique<Triad>();
      for (int i = 0; i < repetitions; ++i) std::cout << (i == 0 ? "" : " ") << triad->Run();
      std::cout << std::endl;
      continue;
    }
    if (name != ready_name) {
      ready = nullptr;
      ready_name = name;
      for (const Benchmark& benchmark : benchmarks) {
        if (benchmark.name == name) ready = std::make_unique<Ready>(benchmark, *device);
      }
    }
    if (ready == nullptr) {
      std::cerr << "no benchmark \"" << name << "\"; \"list\" lists them\n";
      return 2;
    }
    if (save) {
      ready->Save(folder);
      std::cout << "saved";
    } else {
      const bool tiny = name == "vector_add_f32_4";
      for (int i = 0; i < repetitions; ++i) {
        std::cout << (i == 0 ? "" : " ") << ready->Run(*lane, tiny);
      }
    }
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace hotplate

int main() { return hotplate::Serve(); }
