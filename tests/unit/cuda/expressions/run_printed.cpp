// Runs an expression's printed CUDA text on the host: compiles it with the host's compiler, loads it, and runs its
// functions with every thread of a block as a fiber. For printed_test.py, which compares the results with NumPy's.
//
// usage: run_printed FOLDER MULTIPROCESSORS TEXT [NAME=DTYPE:SIZES:FILE | NAME=bool:NUMBER | NAME=int:NUMBER |
//   NAME=float:NUMBER]...
// SIZES: 3,4, or empty for no axis. The files have the elements in C order. Into FOLDER go text.cu, and NAME.out of
// each output; a line for each goes to standard output: NAME DTYPE SIZES. What an expression refuses is said on
// standard error, with 2 as the exit status.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "kernels/expression/check.h"
#include "kernels/expression/cuda_text.h"
#include "tests/unit/cuda/emulation/grid.h"
#include "tests/unit/cuda/expressions/host_code.h"

namespace hotplate::expression {
namespace {

[[noreturn]] void Die(const std::string& why, int status = 1) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(status);
}

struct Given {
  std::vector<NamedInput> inputs;
  std::vector<std::vector<char>> bytes;
  std::vector<Scalar> scalars;
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
};

Given Read(int count, char** words) {
  Given given;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t equals = word.find('='), colon = word.find(':');
    const std::string name = word.substr(0, equals), type = word.substr(equals + 1, colon - equals - 1);
    const std::string rest = word.substr(colon + 1);
    if (type == "bool" && rest.find(':') == std::string::npos) {
      given.scalars.push_back({name, DType::kBool});
    } else if (type == "int") {
      given.scalars.push_back({name, DType::kInt64});
    } else if (type == "float") {
      given.scalars.push_back({name, DType::kFloat64});
    } else {
      const std::size_t second = rest.find(':');
      NamedInput input{name, {*ParseDType(type), {}}};
      for (std::size_t at = 0; at < second;) {
        const std::size_t end = std::min(rest.find(',', at), second);
        input.signature.shape.push_back(std::stoll(rest.substr(at, end - at)));
        at = end + 1;
      }
      std::ifstream file(rest.substr(second + 1), std::ios::binary);
      given.bytes.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      given.inputs.push_back(std::move(input));
      continue;
    }
    given.numbers.push_back(std::stod(rest));
    given.integers.push_back(type == "float" ? 0 : std::stoll(rest));
  }
  return given;
}

std::uint64_t Address(std::vector<char>& memory) { return reinterpret_cast<std::uint64_t>(memory.data()); }

int Main(int argc, char** argv) {
  if (argc < 4) Die("usage: run_printed FOLDER MULTIPROCESSORS TEXT [NAME=...]...");
  const std::string folder = argv[1];
  Given given = Read(argc - 4, argv + 4);
  const std::variant<Program, Error> checked = Check(argv[3], given.inputs, given.scalars);
  if (const auto* error = std::get_if<Error>(&checked)) Die(error->message + "\n" + WithCaret(*error, argv[3]), 2);
  const Program& program = std::get<Program>(checked);
  const CudaText text = PrintCuda(program);

  std::vector<std::vector<char>> outputs, partials, means;
  for (const Output& output : program.outputs) outputs.emplace_back(ByteSize(output.signature).value());
  std::vector<FoldGeometry> geometry;
  for (const CudaFold& fold : text.folds) {
    geometry.push_back(GeometryOf(fold, std::atoi(argv[2])));
    partials.emplace_back(fold.outputs * geometry.back().splits * fold.state_bytes);
    means.emplace_back(fold.outputs * static_cast<std::uint64_t>(fold.means) * 8);
  }
  std::uint64_t trouble[CudaText::kTroubleWords] = {};
  std::vector<std::uint64_t> block;
  for (const CudaSlot& slot : text.slots) {
    using Kind = CudaSlot::Kind;
    const auto i = static_cast<std::size_t>(slot.index);
    switch (slot.kind) {
      case Kind::kValue:
        block.push_back(slot.value);
        break;
      case Kind::kInput:
        block.push_back(Address(given.bytes[i]));
        break;
      case Kind::kOutput:
        block.push_back(Address(outputs[i]));
        break;
      case Kind::kScalar: {
        // In the order in which they were given, those that the text names.
        std::size_t at = 0;
        while (given.scalars[at].name != program.scalars[i].name) ++at;
        block.push_back(
            SlotBits(slot.dtype, given.integers[at], given.numbers[at], given.scalars[at].dtype != DType::kFloat64));
        break;
      }
      case Kind::kTrouble:
        block.push_back(reinterpret_cast<std::uint64_t>(trouble));
        break;
      case Kind::kPartials:
        block.push_back(Address(partials[i]));
        break;
      case Kind::kMeans:
        block.push_back(Address(means[i]));
        break;
      case Kind::kLanes:
        block.push_back(geometry[i].lanes);
        break;
      case Kind::kSplits:
        block.push_back(geometry[i].splits);
        break;
      case Kind::kMergeLanes:
        block.push_back(geometry[i].merge_lanes);
        break;
    }
  }
  const emulation::HostCode code(text.source, folder);
  if (!code.error().empty()) Die(code.error());
  void* pointer = block.data();
  const auto run = [&](const std::string& name, unsigned blocks, unsigned threads, std::uint64_t begin,
                       std::uint64_t end) {
    void* parameters[] = {text.by_pointer ? static_cast<void*>(&pointer) : block.data(), &begin, &end};
    if (!code.Run(name, blocks, threads, parameters)) Die("no function " + name);
  };
  emulation::UseOrder(emulation::Order::kShuffled);
  if (!text.checks.empty()) run("prepare", 1, 1, 0, 0);
  // In two pieces, as a device gets its work when it is to be stopped in between.
  if (text.each && text.places > 0) {
    const std::uint64_t half = text.places / 2;
    if (half > 0) run("expression", 2, CudaText::kThreads, 0, half);
    run("expression", 3, CudaText::kThreads, half, text.places);
  }
  for (std::size_t i = 0; i < text.folds.size(); ++i) {
    const std::uint64_t items = text.folds[i].outputs * geometry[i].splits;
    if (items == 0) continue;
    const std::string number = std::to_string(i);
    if (items / 2 > 0) run("fold_" + number, 2, CudaText::kThreads, 0, items / 2);
    run("fold_" + number, 3, CudaText::kThreads, items / 2, items);
    if (geometry[i].splits > 1) run("merge_" + number, 2, CudaText::kThreads, 0, text.folds[i].outputs);
  }
  if (!text.checks.empty()) {
    run("explain", 1, 1, 0, 0);
    if (trouble[0] != CudaText::kNoTrouble) {
      const CudaCheck& check = text.checks.at(trouble[1]);
      std::fprintf(stderr, "trouble at %llu: gather %d axis %d index %lld\n",
                   static_cast<unsigned long long>(trouble[0]), check.gather, check.axis,
                   static_cast<long long>(trouble[2]));
      return 3;
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = program.outputs[i];
    std::ofstream(folder + "/" + output.name + ".out", std::ios::binary)
        .write(outputs[i].data(), static_cast<std::streamsize>(outputs[i].size()));
    std::string sizes;
    for (const std::int64_t size : output.signature.shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    std::printf("%s %s %s\n", output.name.c_str(), std::string(Name(output.signature.dtype)).c_str(), sizes.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace hotplate::expression

int main(int argc, char** argv) { return hotplate::expression::Main(argc, argv); }
