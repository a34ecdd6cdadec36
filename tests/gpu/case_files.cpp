// The conformance suite's cases as files, and its verifiers as a command: what a run of `hotplate` on .npy files is
// judged by, on a machine that has neither a compiler nor NumPy. A new kernel is covered through its own suite.
//   hotplate_case_files list KERNEL                  one JSON object a line: case, precision, bytes, of these the
//                                                    outputs'. It makes the arrays of all its cases
//   hotplate_case_files write KERNEL CASE FOLDER     the inputs as FOLDER/NAME.npy; prints the words for `hotplate run`
//   hotplate_case_files verify KERNEL CASE FOLDER    reads FOLDER/NAME.npy of every input and output; prints the error
//                                                    in units of the kernel's bound
// Exit status: 0; 1 beyond the bound; 2 wrong usage or a file that is not what it should be.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>
#include <sstream>

#include "kernels/array/npy.h"
#include "kernels/call/call.h"
#include "tests/conformance/case.h"

namespace hotplate::conformance {
namespace {

using Arrays = std::map<std::string, TestArray>;

constexpr int kExitBeyondBound = 1, kExitUsage = 2;

int Fail(const std::string& why) {
  std::cerr << "hotplate_case_files: " << why << "\n";
  return kExitUsage;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

struct Bound {
  BoundCall call;
  Arrays inputs;
};

absl::StatusOr<Bound> Bind(const KernelSuite& suite, const Case& one) {
  const KernelSpec& spec = *BuiltinCatalog().Find(suite.kernel).value();
  std::mt19937_64 random(20'240'501);
  Bound bound;
  bound.inputs = one.inputs(random);
  for (const auto& [name, other] : one.same_as) bound.inputs.emplace(name, bound.inputs.at(other));
  absl::StatusOr<BoundCall> call = conformance::Bind(spec, one, bound.inputs);
  if (!call.ok()) return call.status();
  bound.call = *std::move(call);
  return bound;
}

int List(const KernelSuite& suite) {
  for (const Case& one : suite.cases()) {
    const absl::StatusOr<Bound> bound = Bind(suite, one);
    if (!bound.ok()) return Fail(std::string(bound.status().message()));
    std::cout << "{\"case\": " << Quoted(one.name) << ", \"precision\": " << Quoted(PrecisionName(one.precision))
              << ", \"bytes\": " << bound->call.InputBytes() + bound->call.OutputBytes()
              << ", \"output_bytes\": " << bound->call.OutputBytes() << "}\n";
  }
  return 0;
}

std::string Flag(std::string name) {
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  return "--" + name;
}

// As the command line takes it.
std::string Word(const std::string& name, const ParamValue& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return Flag(name) + (*boolean ? "" : "=false");
  std::ostringstream text;
  text.precision(17);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) text << *integer;
  if (const auto* real = std::get_if<double>(&value)) {
    text << *real;
    // An integer would make other results, where the dtype follows from the value.
    if (text.str().find_first_not_of("-0123456789") == std::string::npos) text << ".0";
  }
  if (const auto* choice = std::get_if<std::string>(&value)) text << *choice;
  return Flag(name) + "=" + text.str();
}

int Write(const KernelSuite& suite, const Case& one, const std::string& folder) {
  const absl::StatusOr<Bound> bound = Bind(suite, one);
  if (!bound.ok()) return Fail(std::string(bound.status().message()));
  std::vector<std::string> words;
  for (const ArgumentSpec& input : bound->call.spec->inputs()) {
    const std::string path = folder + "/" + input.name + ".npy";
    const TestArray& array = bound->inputs.at(input.name);
    std::variant<AtomicFile, NpyError> created = AtomicFile::Create(path);
    if (const auto* error = std::get_if<NpyError>(&created)) return Fail(path + ": " + error->message);
    AtomicFile& file = std::get<AtomicFile>(created);
    const std::string header = NpyHeaderFor(array.signature());
    std::optional<NpyError> error = file.Write(std::as_bytes(std::span(header)));
    if (!error.has_value()) error = file.Write({static_cast<const std::byte*>(array.data()), array.bytes()});
    if (!error.has_value()) error = file.Commit();
    if (error.has_value()) return Fail(path + ": " + error->message);
    words.push_back(path);
  }
  for (const auto& [name, value] : one.params) words.push_back(Word(name, value));
  if (one.precision != HOTPLATE_PRECISION_DEFAULT) words.push_back(Flag("precision=") + PrecisionName(one.precision));
  for (const ArgumentSpec& output : bound->call.spec->outputs()) {
    words.push_back("--output");
    words.push_back(output.name + "=" + folder + "/" + output.name + ".npy");
  }
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + Quoted(word);
  std::cout << "[" << text << "]\n";
  return 0;
}

// With `at_most` there may be fewer of the first dimension.
absl::StatusOr<TestArray> Read(const std::string& path, Signature expected, bool at_most = false) {
  std::variant<NpyFile, NpyError> opened = NpyFile::Open(path);
  if (const auto* error = std::get_if<NpyError>(&opened)) return absl::NotFoundError(path + ": " + error->message);
  const NpyFile& file = std::get<NpyFile>(opened);
  if (at_most && file.signature().shape.size() == expected.shape.size()) {
    std::int64_t& most = expected.shape.front();
    most = std::min(most, file.signature().shape.front());
  }
  if (!(file.signature() == expected)) return absl::InvalidArgumentError(path + ": another dtype or shape");
  TestArray array(expected);
  const auto error = file.Read({static_cast<std::byte*>(array.data()), array.bytes()});
  if (error.has_value()) return absl::DataLossError(path + ": " + error->message);
  return array;
}

int Verify(const KernelSuite& suite, const Case& one, const std::string& folder) {
  absl::StatusOr<Bound> bound = Bind(suite, one);
  if (!bound.ok()) return Fail(std::string(bound.status().message()));
  Arrays outputs;
  for (std::size_t i = 0; i < bound->call.outputs.size(); ++i) {
    const std::string& name = bound->call.spec->outputs()[i].name;
    const bool at_most = bound->call.spec->output_rules()[i].shape.at_most;
    absl::StatusOr<TestArray> array = Read(folder + "/" + name + ".npy", bound->call.outputs[i], at_most);
    if (!array.ok()) return Fail(std::string(array.status().message()));
    outputs.emplace(name, *std::move(array));
  }
  for (const auto& [name, array] : bound->inputs) {
    const absl::StatusOr<TestArray> file = Read(folder + "/" + name + ".npy", array.signature());
    if (!file.ok()) return Fail(std::string(file.status().message()));
    if (!file->SameBytes(array)) return Fail(folder + "/" + name + ".npy is not this case's input");
  }
  const Verdict verdict = suite.verify({bound->call, bound->inputs, outputs});
  std::cout << verdict.error << "\n";
  if (verdict.error <= 1) return 0;
  std::cerr << suite.kernel << " " << one.name << ": " << verdict.error << " times its bound: " << verdict.worst
            << "\n";
  return kExitBeyondBound;
}

int Main(const std::vector<std::string>& words) {
  const bool list = words.size() == 2 && words[0] == "list";
  if (!list && (words.size() != 4 || (words[0] != "write" && words[0] != "verify"))) {
    return Fail("usage: list KERNEL | write KERNEL CASE FOLDER | verify KERNEL CASE FOLDER");
  }
  for (const KernelSuite& suite : KernelSuites()) {
    if (words[1] != suite.kernel) continue;
    if (list) return List(suite);
    for (const Case& one : suite.cases()) {
      if (words[2] != one.name) continue;
      return words[0] == "write" ? Write(suite, one, words[3]) : Verify(suite, one, words[3]);
    }
    return Fail("kernel " + words[1] + " has no case \"" + words[2] + "\"; \"list\" lists them");
  }
  return Fail("no kernel \"" + words[1] + "\"");
}

}  // namespace
}  // namespace hotplate::conformance

int main(int argc, char** argv) { return hotplate::conformance::Main(std::vector<std::string>(argv + 1, argv + argc)); }
