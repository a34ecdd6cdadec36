// A kernel's spec: an immutable value that describes a kernel's parameters, inputs and outputs. It can also be built at
// run time. Binding a request to a spec either refuses it, naming field and value, or yields a BoundCall.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/array/shape.h"
#include "kernels/call/abi.h"
#include "kernels/spec/argument_rules.h"

namespace hotplate {

enum class ParamType { kInt = HOTPLATE_PARAM_INT, kFloat, kBool, kChoice };

// A choice is a string. A float that was given as an integer stays one: NumPy's dtypes go by that.
using ParamValue = std::variant<std::int64_t, double, bool, std::string>;

std::string ToString(const ParamValue& value);

struct ParamSpec {
  std::string name;
  ParamType type = ParamType::kFloat;
  std::optional<ParamValue> default_value = {};  // none: must be given
  // "a fresh one": the default in words, if its value only marks it. Such a value may be one that callers cannot give.
  std::string default_text = {};
  // Inclusive. Without any_number a float is finite: NaN and infinities are refused.
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool any_number = false;  // of a float: also NaN and the infinities
  std::vector<std::string> choices = {};
  std::string docs = {};
};

struct TypeVariable {
  std::string name;
  std::vector<DType> dtypes;
};

struct ArgumentSpec {
  std::string name;
  // A type variable ("T"), "float(T)" (T if T is a float, else float64), "complex(T)" (complex numbers of T's
  // precision), or a dtype's name ("int32"). An output may also name a choice parameter ("dtype"), unless an input's
  // type variable has that name; its value is then the dtype.
  std::string type;
  // Comma-separated symbols, numbers, and at most one "..."; "" is a scalar. A symbol is bound by an input's size or by
  // an int parameter of that name. "..." is the same in all arguments. Inputs that all have "broadcast ..." follow
  // NumPy's broadcasting, and an output's "..." is the broadcast shape. An output's shape may begin with "at most ":
  // its first size depends on the data, and the kernel reports it by Call::SetSize.
  std::string shape;
  std::string docs;
};

enum class CancelClass { kChunked, kUninterruptible };

// Whether a call with the same inputs has the same bits each time on one device, whatever else the device does and
// however many threads the call gets. The numbers of hotplate.v1.Determinism.
enum class Determinism {
  kAlways = 1,
  kOnRequest,  // with BoundCall::deterministic; it may then take longer
  kNever,      // a measurement
};

struct Cost {
  double flop = 0;
  // Bytes that must move at least: each input read once, each output written once, unless the spec says otherwise.
  double bytes = 0;
};

class KernelSpec;

// A request that its spec has accepted: parameters complete and in the spec's order, arrays in the spec's order.
struct BoundCall {
  const KernelSpec* spec = nullptr;  // not owned: whoever keeps the call keeps the spec as well
  std::vector<ParamValue> params;
  std::vector<Signature> inputs;
  std::vector<Signature> outputs;  // an upper bound where a shape depends on the data
  int precision = HOTPLATE_PRECISION_DEFAULT;
  bool deterministic = false;  // the same bits are asked for

  const ParamValue& Param(std::string_view name) const;
  std::int64_t Int(std::string_view name) const { return std::get<std::int64_t>(Param(name)); }
  double Float(std::string_view name) const;
  bool Bool(std::string_view name) const { return std::get<bool>(Param(name)); }
  const std::string& Choice(std::string_view name) const { return std::get<std::string>(Param(name)); }
  const Signature& Input(std::string_view name) const;

  std::size_t InputBytes() const;
  std::size_t OutputBytes() const;
};

class KernelSpec {
 public:
  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& summary() const { return summary_; }
  const std::string& docs() const { return docs_; }
  const std::vector<TypeVariable>& type_variables() const { return type_variables_; }
  const std::vector<ParamSpec>& params() const { return params_; }
  const std::vector<ArgumentSpec>& inputs() const { return inputs_; }
  const std::vector<ArgumentSpec>& outputs() const { return outputs_; }
  // The rules of inputs() and outputs(), parsed once.
  const std::vector<ArgumentRules>& input_rules() const { return input_rules_; }
  const std::vector<ArgumentRules>& output_rules() const { return output_rules_; }
  const std::string& cost_text() const { return cost_text_; }
  const std::string& numerics() const { return numerics_; }
  CancelClass cancel_class() const { return cancel_class_; }
  int cancel_bound_ms() const { return cancel_bound_ms_; }  // for kChunked
  const std::string& example() const { return example_; }
  bool takes_precision() const { return takes_precision_; }
  Determinism determinism() const { return determinism_; }
  bool cpu_only() const { return cpu_only_; }

  // 16 hexadecimal digits over everything on which two sides must agree: name, version, parameters, inputs, outputs; of
  // a spec that was made for one call (KernelSpecBuilder::ForOneCall) name and version.
  // FNV-1a over a canonical text; no secret depends on it.
  const std::string& Hash() const { return hash_; }
  // Tells specs of this process apart, also those that are gone: no number is given twice.
  std::uint64_t number() const { return number_; }

  // INVALID_ARGUMENT with field violations ("params.alpha", "inputs.x", "precision", "deterministic"); every violation
  // that can be told from the others is named, not only the first.
  absl::StatusOr<BoundCall> Bind(const std::map<std::string, ParamValue>& params,
                                 const std::map<std::string, Signature>& inputs, int precision,
                                 bool deterministic = false) const;

  Cost CostOf(const BoundCall& call) const;

  // An upper bound on a CPU's scalar operations for this call, whatever its arrays hold. Not shown to users: it decides
  // whether a thread that must not block may run the call. Absent if the kernel gives no bound.
  std::optional<double> WorkBoundOf(const BoundCall& call) const;

 private:
  friend class KernelSpecBuilder;
  KernelSpec() = default;
  std::string HashOfAll() const;

  std::uint64_t number_ = 0;
  std::string hash_;
  std::string name_, version_ = "1", summary_, docs_, cost_text_, numerics_, example_;
  std::vector<TypeVariable> type_variables_;
  std::vector<ParamSpec> params_;
  std::vector<ArgumentSpec> inputs_, outputs_;
  std::vector<ArgumentRules> input_rules_, output_rules_;
  CancelClass cancel_class_ = CancelClass::kUninterruptible;
  int cancel_bound_ms_ = 0;
  bool takes_precision_ = false;
  bool for_one_call_ = false;
  bool cpu_only_ = false;
  Determinism determinism_ = Determinism::kAlways;
  std::function<Cost(const BoundCall&)> cost_;
  std::function<double(const BoundCall&)> work_bound_;
  std::function<absl::Status(BoundCall&)> shapes_;
};

// See kernels/catalogue/selu/selu.cpp for one in use. A kernel describes itself with it, and the catalogue builds it.
class KernelSpecBuilder {
 public:
  KernelSpecBuilder(std::string name, std::string summary);

  KernelSpecBuilder& Version(std::string version);
  KernelSpecBuilder& Docs(std::string docs);
  KernelSpecBuilder& Type(std::string variable, std::vector<DType> dtypes);
  KernelSpecBuilder& Param(ParamSpec param);
  KernelSpecBuilder& Input(std::string name, std::string type, std::string shape, std::string docs = "");
  KernelSpecBuilder& Output(std::string name, std::string type, std::string shape, std::string docs = "");
  KernelSpecBuilder& CostModel(std::string text, std::function<Cost(const BoundCall&)> cost);
  // See KernelSpec::WorkBoundOf. At about a nanosecond an operation, and with the slowest values that an input may
  // have.
  KernelSpecBuilder& WorkBound(std::function<double(const BoundCall&)> operations);
  KernelSpecBuilder& Numerics(std::string text);
  KernelSpecBuilder& Chunked(int cancel_bound_ms);
  KernelSpecBuilder& Example(std::string command_line);
  // The kernel honours --precision. Without this only the default precision is accepted.
  KernelSpecBuilder& TakesPrecision();
  // Without this: kAlways.
  KernelSpecBuilder& SameBits(Determinism determinism);
  // There is no CUDA code of it: a GPU refuses it, and says so.
  KernelSpecBuilder& CpuOnly();
  // Replaces the symbolic shape rules where parameters change them (a transpose): checks call.inputs, fills
  // call.outputs; also their dtypes where a choice that determines one names none ("auto"). The symbolic shapes then
  // only document.
  KernelSpecBuilder& Shapes(std::function<absl::Status(BoundCall&)> shapes);
  // The caller names its parameters, inputs and outputs, by any identifiers, and the kernel's code takes whatever they
  // are: an expression.
  KernelSpecBuilder& ForOneCall();
  // It is done for its effects: a program. Without this a spec without outputs is wrong.
  KernelSpecBuilder& NoOutputs();

  // Once. INVALID_ARGUMENT, with the kernel's name and the first thing that is wrong, if the spec contradicts itself:
  // an unknown symbol, a default outside its bounds.
  absl::StatusOr<KernelSpec> Build();

 private:
  KernelSpec spec_;
  bool no_outputs_ = false;
};

// Jobs keep theirs, so that a catalogue may drop a spec that they still need.
using SharedSpec = std::shared_ptr<const KernelSpec>;

// The kernels by name. Immutable once built; copies share the specs.
class Catalog {
 public:
  // INVALID_ARGUMENT names the first kernel whose spec is wrong, or is not the only one of its name.
  static absl::StatusOr<Catalog> Of(std::vector<KernelSpecBuilder> kernels);

  const std::vector<SharedSpec>& specs() const { return specs_; }
  // NOT_FOUND with the nearest names: no kernel "mandlebrot". Nearest: mandelbrot.
  absl::StatusOr<SharedSpec> Find(const std::string& name) const;

  // This catalogue and a spec that was made at run time. INVALID_ARGUMENT if it has a kernel of that name.
  absl::StatusOr<Catalog> With(SharedSpec spec) const;

 private:
  Catalog() = default;

  std::vector<SharedSpec> specs_;  // sorted by name
};

// Hotplate's own kernels: kernels/catalogue/specs.cpp is the table. Built once; an error is the first wrong spec's.
const absl::StatusOr<Catalog>& TryBuiltinCatalog();
// The same, for programs that cannot go on without it: ends the process with the error.
const Catalog& BuiltinCatalog();

}  // namespace hotplate
