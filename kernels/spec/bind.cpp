// Binds a request to its spec. All errors that can be found are reported together, so that a user corrects a command
// line once and not five times.
#include "kernels/spec/bind.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/functional/function_ref.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/status.h"
#include "kernels/call/call.h"
#include "kernels/spec/argument_rules.h"

namespace hotplate {
namespace {

// A request may have any number of wrong names; this many are reported.
constexpr std::size_t kMostViolations = 16;
constexpr std::size_t kLongestField = 80;

template <typename Named>
std::vector<std::string> NamesOf(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

class CallBuilder {
 public:
  CallBuilder(const KernelSpec& spec, const std::map<std::string, Signature>& inputs) : spec_(spec), given_(inputs) {
    call_.spec = &spec;
    call_.inputs.resize(spec.inputs().size());
    usable_.resize(spec.inputs().size());
  }

  bool ok() const { return count_ == 0; }
  BoundCall& call() { return call_; }

  absl::Status Refusal() {
    if (count_ > violations_.size()) {
      violations_.push_back({"", "and " + std::to_string(count_ - violations_.size()) + " more"});
    }
    return Refused(absl::StatusCode::kInvalidArgument, violations_);
  }

  void BindParams(const std::map<std::string, ParamValue>& params) {
    for (const auto& [name, value] : params) {
      const auto same = [&name = name](const ParamSpec& param) { return param.name == name; };
      if (std::none_of(spec_.params().begin(), spec_.params().end(), same)) {
        Add("params." + name, UnknownName("parameter", name, NamesOf(spec_.params())));
      }
    }
    for (const ParamSpec& param : spec_.params()) {
      const auto given = params.find(param.name);
      ParamValue bound = param.default_value.value_or(ParamValue(false));
      if (given != params.end()) {
        std::variant<ParamValue, std::string> accepted = AcceptValue(param, given->second);
        if (auto* sentence = std::get_if<std::string>(&accepted)) {
          Add("params." + param.name, *sentence);
        } else {
          bound = std::get<ParamValue>(std::move(accepted));
          BindSymbol(param, bound);
        }
      } else if (!param.default_value) {
        Add("params." + param.name, "parameter " + param.name + " is missing; it must be " + Expectation(param));
      } else {
        BindSymbol(param, bound);
      }
      call_.params.push_back(std::move(bound));
    }
  }

  void BindInputs() {
    for (const auto& [name, signature] : given_) {
      const auto same = [&name = name](const ArgumentSpec& input) { return input.name == name; };
      if (std::none_of(spec_.inputs().begin(), spec_.inputs().end(), same)) {
        Add("inputs." + name, UnknownName("input", name, NamesOf(spec_.inputs())));
      }
    }
    for (std::size_t i = 0; i < spec_.inputs().size(); ++i) {
      const ArgumentSpec& input = spec_.inputs()[i];
      const auto given = given_.find(input.name);
      if (given == given_.end()) {
        Add("inputs." + input.name, "input " + input.name + " is missing; expected " + Expected(i));
        continue;
      }
      call_.inputs[i] = given->second;
      BindType(i, given->second.dtype);
      usable_[i] = HasBoundedSize(given->second, [&](const std::string& sentence) {
        Add("inputs." + input.name, input.name + " is " + sentence);
      });
    }
  }

  void BindPrecision(int precision) {
    call_.precision = precision;
    if (precision == HOTPLATE_PRECISION_DEFAULT) return;
    const char* const name = PrecisionName(precision);
    if (name == nullptr) {
      Add("precision", "precision " + std::to_string(precision) + " is not known; tf32, bf16 and f16 are");
    } else if (!spec_.takes_precision()) {
      Add("precision",
          std::string("precision ") + name + " was asked for, but this kernel has its default precision only");
    } else if (ok() && std::none_of(call_.inputs.begin(), call_.inputs.end(),
                                    [](const Signature& input) { return IsFloating(input.dtype); })) {
      Add("precision", std::string("precision ") + name + " is for floating-point inputs, and there is none");
    }
  }

  void BindDeterministic(bool deterministic) {
    call_.deterministic = deterministic;
    if (!deterministic || spec_.determinism() != Determinism::kNever) return;
    Add("deterministic", "deterministic is true, but " + spec_.name() +
                             " measures, and has other bits each time; leave --deterministic out");
  }

  // Gives the outputs their dtypes; their shapes follow. Only once everything else is bound.
  void BindOutputTypes() {
    for (const ArgumentRules& output : spec_.output_rules()) {
      const TypeRule& rule = output.type;
      DType dtype = rule.fixed ? *rule.fixed : Determined(rule.variable);
      if (rule.change == TypeRule::Change::kFloat && !IsFloating(dtype)) dtype = DType::kFloat64;
      if (rule.change == TypeRule::Change::kComplex) dtype = ComplexOf(dtype);
      call_.outputs.push_back({.dtype = dtype, .shape = {}});
    }
  }

  void MatchInputShapes() {
    for (std::size_t i = 0; i < spec_.inputs().size(); ++i) {
      if (usable_[i]) MatchShape(i);
    }
  }

  void MakeOutputShapes() {
    for (std::size_t i = 0; i < spec_.outputs().size(); ++i) {
      Shape& shape = call_.outputs[i].shape;
      for (const Dimension& dimension : spec_.output_rules()[i].shape.dimensions) {
        if (dimension.kind == Dimension::Kind::kRest) {
          shape.insert(shape.end(), rest_.begin(), rest_.end());
        } else {
          shape.push_back(dimension.kind == Dimension::Kind::kNumber ? dimension.number
                                                                     : Find(symbols_, dimension.symbol)->size);
        }
      }
    }
  }

  void CheckOutputSizes() {
    for (std::size_t i = 0; i < spec_.outputs().size(); ++i) {
      const std::string& name = spec_.outputs()[i].name;
      HasBoundedSize(call_.outputs[i], [&](const std::string& sentence) {
        Add("outputs." + name, "the output " + name + " would be " + sentence);
      });
    }
  }

 private:
  // The first use of a type variable, a symbol or "...", for the message if a later use disagrees. Inputs by their
  // index: their shapes are in call_.
  struct BoundType {
    const std::string& name;
    DType dtype;
    std::size_t input;
  };
  struct BoundSize {
    const std::string& name;
    std::int64_t size;
    std::optional<std::size_t> input;  // none: by the parameter of that name
  };
  struct BoundRest {
    std::span<const std::int64_t> sizes;
    std::size_t input;
  };

  // A kernel has a few of them.
  template <typename Bound>
  static const Bound* Find(const std::vector<Bound>& all, const std::string& name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Bound& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
  }

  // By an input, or by a choice; one that names no dtype leaves it to the spec's own rule.
  DType Determined(const std::string& variable) const {
    const BoundType* const bound = Find(types_, variable);
    return bound != nullptr ? bound->dtype : ParseDType(call_.Choice(variable)).value_or(DType::kFloat64);
  }

  const std::string& InputName(std::size_t input) const { return spec_.inputs()[input].name; }

  void Add(const std::string& field, const std::string& sentence) {
    if (++count_ > kMostViolations) return;
    violations_.push_back({field.substr(0, kLongestField), spec_.name() + ": " + sentence});
  }

  static std::string UnknownName(const std::string& what, const std::string& name,
                                 const std::vector<std::string>& known) {
    const std::string sentence = "there is no " + what + " " + Quoted(name);
    if (known.empty()) return sentence + "; this kernel takes no " + what + "s";
    const std::vector<std::string> nearest = NearestNames(name, known);
    return sentence + "; " + (nearest.empty() ? "there is " : "nearest: ") +
           Alternatives(nearest.empty() ? known : nearest);
  }

  std::string ShapeText(std::size_t input) const { return ToString(spec_.input_rules()[input].shape); }

  std::span<const DType> AllowedTypes(const TypeRule& rule) const {
    if (rule.fixed) return {&*rule.fixed, 1};
    for (const TypeVariable& variable : spec_.type_variables()) {
      if (variable.name == rule.variable) return variable.dtypes;
    }
    return {};
  }

  std::string AllowedNames(std::size_t input) const {
    std::vector<std::string> names;
    for (const DType dtype : AllowedTypes(spec_.input_rules()[input].type)) names.emplace_back(Name(dtype));
    return Alternatives(names);
  }

  // "float32 or float64 [m, k]"
  std::string Expected(std::size_t input) const { return AllowedNames(input) + " " + ShapeText(input); }

  void BindType(std::size_t input, DType dtype) {
    const TypeRule& rule = spec_.input_rules()[input].type;
    const std::string& name = InputName(input);
    const std::span<const DType> allowed = AllowedTypes(rule);
    if (std::find(allowed.begin(), allowed.end(), dtype) == allowed.end()) {
      Add("inputs." + name, name + " is " + std::string(Name(dtype)) + "; it must be " + AllowedNames(input));
      return;
    }
    if (rule.fixed) return;
    const BoundType* bound = Find(types_, rule.variable);
    if (bound == nullptr) {
      types_.push_back({rule.variable, dtype, input});
    } else if (bound->dtype != dtype) {
      Add("inputs." + name, "dtypes differ: " + InputName(bound->input) + " is " + std::string(Name(bound->dtype)) +
                                ", " + name + " is " + std::string(Name(dtype)) + "; both must be the same one of " +
                                AllowedNames(input));
    }
  }

  // `complain` gets the description: "[2, -1]; a size cannot be negative".
  bool HasBoundedSize(const Signature& signature, absl::FunctionRef<void(const std::string&)> complain) {
    const Shape& shape = signature.shape;
    if (shape.size() > kMaxRank) {
      complain("an array of " + std::to_string(shape.size()) + " dimensions; at most " + std::to_string(kMaxRank) +
               " are possible");
      return false;
    }
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) {
      complain(ToString(shape) + "; a size cannot be negative");
      return false;
    }
    const std::optional<std::size_t> bytes = ByteSize(signature);
    if (bytes && *bytes <= kMaxArrayBytes) return true;
    complain(ToString(signature) + ", more than the " + std::to_string(kMaxArrayBytes) +
             " bytes that an array may have");
    return false;
  }

  // An int parameter determines the size of its name, where the spec has one.
  void BindSymbol(const ParamSpec& param, const ParamValue& value) {
    if (param.type != ParamType::kInt) return;
    symbols_.push_back({param.name, std::get<std::int64_t>(value), std::nullopt});
  }

  void MatchShape(std::size_t input) {
    const ShapeRule& rule = spec_.input_rules()[input].shape;
    const Shape& shape = call_.inputs[input].shape;
    const std::string& name = InputName(input);
    const std::size_t named = rule.dimensions.size() - (rule.rest ? 1 : 0);
    if (rule.rest ? shape.size() < named : shape.size() != named) {
      Add("inputs." + name, name + " is " + ToString(shape) + "; expected " + ToString(rule) + ", " +
                                (rule.rest ? "at least " : "") + std::to_string(named) +
                                (named == 1 ? " dimension" : " dimensions"));
      return;
    }
    const std::size_t rest_length = shape.size() - named;
    std::size_t axis = 0;
    for (const Dimension& dimension : rule.dimensions) {
      if (dimension.kind == Dimension::Kind::kRest) {
        MatchRest(input, std::span(shape).subspan(axis, rest_length));
        axis += rest_length;
        continue;
      }
      if (dimension.kind == Dimension::Kind::kNumber) {
        if (shape[axis] != dimension.number) {
          Add("inputs." + name, name + " is " + ToString(shape) + "; expected " + ToString(rule));
        }
      } else {
        MatchSymbol(input, dimension.symbol, shape[axis]);
      }
      ++axis;
    }
  }

  void MatchSymbol(std::size_t input, const std::string& symbol, std::int64_t size) {
    const BoundSize* bound = Find(symbols_, symbol);
    if (bound == nullptr) {
      symbols_.push_back({symbol, size, input});
      return;
    }
    if (bound->size == size) return;
    const std::string& name = InputName(input);
    std::string sentence = symbol + " is " + std::to_string(bound->size) + " " +
                           (bound->input ? "in " + InputAndShape(*bound->input) : "by the parameter " + symbol) +
                           " but " + std::to_string(size) + " in " + InputAndShape(input) + "; expected ";
    if (bound->input && *bound->input != input) {
      sentence += InputName(*bound->input) + " " + ShapeText(*bound->input) + " and ";
    }
    Add("inputs." + name, sentence + name + " " + ShapeText(input));
  }

  // "a [3, 4]", as it was given.
  std::string InputAndShape(std::size_t input) const {
    return InputName(input) + " " + ToString(call_.inputs[input].shape);
  }

  void MatchRest(std::size_t input, std::span<const std::int64_t> sizes) {
    const bool broadcasts = spec_.input_rules()[input].shape.broadcasts;
    for (const BoundRest& bound : rests_) {  // one by one, so that the message names the misfit
      const bool fits = broadcasts ? BroadcastShape(bound.sizes, sizes).has_value()
                                   : std::equal(bound.sizes.begin(), bound.sizes.end(), sizes.begin(), sizes.end());
      if (!fits) return AddMisfit(bound, {sizes, input}, broadcasts);
    }
    rests_.push_back({sizes, input});
    rest_ = *BroadcastShape(rest_, sizes);  // equal shapes are kept
  }

  void AddMisfit(const BoundRest& bound, const BoundRest& other, bool broadcasts) {
    const Shape &first = call_.inputs[bound.input].shape, &second = call_.inputs[other.input].shape;
    const bool whole = bound.sizes.size() == first.size() && other.sizes.size() == second.size();
    std::string sentence = broadcasts ? "shapes do not broadcast: " : "shapes differ: ";
    sentence += InputName(bound.input) + " is " + ToString(first) + ", " + InputName(other.input) + " is " +
                ToString(second) + "; ";
    if (!whole) {
      sentence += "expected " + InputName(bound.input) + " " + ShapeText(bound.input) + " and " +
                  InputName(other.input) + " " + ShapeText(other.input);
      sentence += broadcasts ? ", and in \"...\" " : " with the same \"...\"";
    }
    if (broadcasts) {
      sentence += "sizes, counted from the last, must be the same or 1";
    } else if (whole) {
      sentence += "both must be the same";
    }
    Add("inputs." + InputName(other.input), sentence);
  }

  const KernelSpec& spec_;
  const std::map<std::string, Signature>& given_;
  BoundCall call_;
  std::vector<bool> usable_;  // by input: given, and of a size that can be reasoned about
  std::vector<BoundType> types_;
  std::vector<BoundSize> symbols_;
  std::vector<BoundRest> rests_;
  Shape rest_;  // their broadcast shape
  std::vector<FieldViolation> violations_;
  std::size_t count_ = 0;
};

}  // namespace

absl::StatusOr<BoundCall> KernelSpec::Bind(const std::map<std::string, ParamValue>& params,
                                           const std::map<std::string, Signature>& inputs, int precision,
                                           bool deterministic) const {
  CallBuilder builder(*this, inputs);
  builder.BindParams(params);
  builder.BindInputs();
  builder.BindPrecision(precision);
  builder.BindDeterministic(deterministic);
  if (!shapes_) builder.MatchInputShapes();
  if (!builder.ok()) return builder.Refusal();

  builder.BindOutputTypes();
  if (shapes_) {
    if (absl::Status status = shapes_(builder.call()); !status.ok()) return status;
    if (builder.call().outputs.size() != outputs_.size()) {
      return absl::InternalError(ToAbsl(name_ + ": its shape rule made " +
                                        std::to_string(builder.call().outputs.size()) + " outputs of " +
                                        std::to_string(outputs_.size())));
    }
  } else {
    builder.MakeOutputShapes();
  }
  builder.CheckOutputSizes();
  if (!builder.ok()) return builder.Refusal();
  return std::move(builder.call());
}

}  // namespace hotplate
