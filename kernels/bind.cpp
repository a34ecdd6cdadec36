// Binding a request to its spec. Everything that can be told to be wrong is told at once, so that a user mends a
// command line once and not five times.
#include "kernels/bind.h"

#include <algorithm>
#include <utility>

#include "kernels/argument_rules.h"
#include "kernels/array/quoted.h"
#include "kernels/status.h"

namespace hotplate {
namespace {

// A request may hold any number of wrong names; this many are told.
constexpr std::size_t kMostViolations = 16;
constexpr std::size_t kLongestField = 80;

template <typename Named>
std::vector<std::string> NamesOf(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

std::string PrecisionName(int precision) {
  switch (precision) {
    case HOTPLATE_PRECISION_DEFAULT:
      return "default";
    case HOTPLATE_PRECISION_TF32:
      return "tf32";
    case HOTPLATE_PRECISION_BF16:
      return "bf16";
    case HOTPLATE_PRECISION_F16:
      return "f16";
    default:
      return "";
  }
}

class Binder {
 public:
  Binder(const KernelSpec& spec, const std::map<std::string, Signature>& inputs) : spec_(spec), given_(inputs) {
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
    return Refused(absl::StatusCode::kInvalidArgument, std::move(violations_));
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
          Add("params." + param.name, std::move(*sentence));
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
        Add("inputs." + input.name, "input " + input.name + " is missing; expected " + Expected(input));
        continue;
      }
      call_.inputs[i] = given->second;
      BindType(input, given->second.dtype);
      usable_[i] = HasBoundedSize("inputs." + input.name, input.name + " is ", given->second);
    }
  }

  void BindPrecision(int precision) {
    call_.precision = precision;
    if (precision == HOTPLATE_PRECISION_DEFAULT) return;
    const std::string name = PrecisionName(precision);
    if (name.empty()) {
      Add("precision", "precision " + std::to_string(precision) + " is not known; tf32, bf16 and f16 are");
    } else if (!spec_.takes_precision()) {
      Add("precision", "precision " + name + " was asked for, but this kernel has its default precision only");
    } else if (ok() && std::none_of(call_.inputs.begin(), call_.inputs.end(),
                                    [](const Signature& input) { return IsFloating(input.dtype); })) {
      Add("precision", "precision " + name + " is for floating-point inputs, and there is none");
    }
  }

  // Gives the outputs their dtypes; their shapes follow. Only once everything else is bound.
  void BindOutputTypes() {
    for (const ArgumentSpec& output : spec_.outputs()) {
      const TypeRule rule = *ParseTypeRule(output.type);
      DType dtype = rule.fixed ? *rule.fixed : types_.at(rule.variable).dtype;
      if (rule.to_float && !IsFloating(dtype)) dtype = DType::kFloat64;
      call_.outputs.push_back({.dtype = dtype, .shape = {}});
    }
  }

  void MatchInputShapes() {
    for (std::size_t i = 0; i < spec_.inputs().size(); ++i) {
      if (usable_[i]) MatchShape(spec_.inputs()[i], call_.inputs[i].shape);
    }
  }

  void MakeOutputShapes() {
    for (std::size_t i = 0; i < spec_.outputs().size(); ++i) {
      Shape& shape = call_.outputs[i].shape;
      const ShapeRule rule = *ParseShapeRule(spec_.outputs()[i].shape);
      for (const Dimension& dimension : rule.dimensions) {
        if (dimension.kind == Dimension::Kind::kRest) {
          shape.insert(shape.end(), rest_->sizes.begin(), rest_->sizes.end());
        } else {
          shape.push_back(dimension.kind == Dimension::Kind::kNumber ? dimension.number
                                                                     : symbols_.at(dimension.symbol).size);
        }
      }
    }
  }

  void CheckOutputSizes() {
    for (std::size_t i = 0; i < spec_.outputs().size(); ++i) {
      const std::string& name = spec_.outputs()[i].name;
      HasBoundedSize("outputs." + name, "the output " + name + " would be ", call_.outputs[i]);
    }
  }

 private:
  // Where a type variable, a symbol or "..." got what it stands for, for the message when another disagrees.
  struct BoundType {
    DType dtype;
    std::string input;
  };
  struct BoundSize {
    std::int64_t size;
    std::string where;  // "in a [3, 4]", "by the parameter n"
    const ArgumentSpec* input;
  };
  struct BoundRest {
    Shape sizes;
    Shape whole;
    const ArgumentSpec* input;
  };

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

  static std::string ShapeText(const ArgumentSpec& argument) { return ToString(*ParseShapeRule(argument.shape)); }

  std::vector<std::string> AllowedTypes(const TypeRule& rule) const {
    if (rule.fixed) return {std::string(Name(*rule.fixed))};
    std::vector<std::string> names;
    for (const TypeVariable& variable : spec_.type_variables()) {
      if (variable.name != rule.variable) continue;
      for (const DType dtype : variable.dtypes) names.emplace_back(Name(dtype));
    }
    return names;
  }

  // "float32 or float64 [m, k]"
  std::string Expected(const ArgumentSpec& argument) const {
    return Alternatives(AllowedTypes(*ParseTypeRule(argument.type))) + " " + ShapeText(argument);
  }

  void BindType(const ArgumentSpec& input, DType dtype) {
    const TypeRule rule = *ParseTypeRule(input.type);
    const std::vector<std::string> allowed = AllowedTypes(rule);
    const std::string name(Name(dtype));
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      Add("inputs." + input.name, input.name + " is " + name + "; it must be " + Alternatives(allowed));
      return;
    }
    if (rule.fixed) return;
    const auto [bound, first] = types_.try_emplace(rule.variable, BoundType{dtype, input.name});
    if (first || bound->second.dtype == dtype) return;
    Add("inputs." + input.name, "dtypes differ: " + bound->second.input + " is " +
                                    std::string(Name(bound->second.dtype)) + ", " + input.name + " is " + name +
                                    "; both must be the same one of " + Alternatives(allowed));
  }

  bool HasBoundedSize(const std::string& field, const std::string& subject, const Signature& signature) {
    const Shape& shape = signature.shape;
    if (shape.size() > kMaxRank) {
      Add(field, subject + "an array of " + std::to_string(shape.size()) + " dimensions; at most " +
                     std::to_string(kMaxRank) + " are possible");
      return false;
    }
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) {
      Add(field, subject + ToString(shape) + "; a size cannot be negative");
      return false;
    }
    const std::optional<std::size_t> bytes = ByteSize(signature);
    if (bytes && *bytes <= kMaxArrayBytes) return true;
    Add(field, subject + ToString(signature) + ", more than the " + std::to_string(kMaxArrayBytes) +
                   " bytes that an array may have");
    return false;
  }

  // An int parameter determines the size of its name, where the spec has one.
  void BindSymbol(const ParamSpec& param, const ParamValue& value) {
    if (param.type != ParamType::kInt) return;
    symbols_.insert_or_assign(param.name,
                              BoundSize{std::get<std::int64_t>(value), "by the parameter " + param.name, nullptr});
  }

  void MatchShape(const ArgumentSpec& input, const Shape& shape) {
    const ShapeRule rule = *ParseShapeRule(input.shape);
    const std::size_t named = rule.dimensions.size() - (rule.rest ? 1 : 0);
    if (rule.rest ? shape.size() < named : shape.size() != named) {
      Add("inputs." + input.name, input.name + " is " + ToString(shape) + "; expected " + ToString(rule) + ", " +
                                      (rule.rest ? "at least " : "") + std::to_string(named) +
                                      (named == 1 ? " dimension" : " dimensions"));
      return;
    }
    const std::size_t rest_length = shape.size() - named;
    std::size_t axis = 0;
    for (const Dimension& dimension : rule.dimensions) {
      if (dimension.kind == Dimension::Kind::kRest) {
        const auto first = shape.begin() + static_cast<std::ptrdiff_t>(axis);
        MatchRest(input, shape, Shape(first, first + static_cast<std::ptrdiff_t>(rest_length)));
        axis += rest_length;
        continue;
      }
      if (dimension.kind == Dimension::Kind::kNumber) {
        if (shape[axis] != dimension.number) {
          Add("inputs." + input.name, input.name + " is " + ToString(shape) + "; expected " + ToString(rule));
        }
      } else {
        MatchSymbol(input, shape, dimension.symbol, shape[axis]);
      }
      ++axis;
    }
  }

  void MatchSymbol(const ArgumentSpec& input, const Shape& shape, const std::string& symbol, std::int64_t size) {
    const auto [bound, first] =
        symbols_.try_emplace(symbol, BoundSize{size, "in " + input.name + " " + ToString(shape), &input});
    if (first || bound->second.size == size) return;
    const BoundSize& other = bound->second;
    std::string sentence = symbol + " is " + std::to_string(other.size) + " " + other.where + " but " +
                           std::to_string(size) + " in " + input.name + " " + ToString(shape) + "; expected ";
    if (other.input != nullptr && other.input != &input) {
      sentence += other.input->name + " " + ShapeText(*other.input) + " and ";
    }
    Add("inputs." + input.name, sentence + input.name + " " + ShapeText(input));
  }

  void MatchRest(const ArgumentSpec& input, const Shape& whole, Shape sizes) {
    if (!rest_) {
      rest_ = BoundRest{std::move(sizes), whole, &input};
      return;
    }
    if (rest_->sizes == sizes) return;
    std::string sentence = "shapes differ: " + rest_->input->name + " is " + ToString(rest_->whole) + ", " +
                           input.name + " is " + ToString(whole) + "; ";
    if (rest_->sizes == rest_->whole && sizes == whole) {
      sentence += "both must be the same";
    } else {
      sentence += "expected " + rest_->input->name + " " + ShapeText(*rest_->input) + " and " + input.name + " " +
                  ShapeText(input) + " with the same \"...\"";
    }
    Add("inputs." + input.name, sentence);
  }

  const KernelSpec& spec_;
  const std::map<std::string, Signature>& given_;
  BoundCall call_;
  std::vector<bool> usable_;  // by input: given, and of a size that can be reasoned about
  std::map<std::string, BoundType> types_;
  std::map<std::string, BoundSize> symbols_;
  std::optional<BoundRest> rest_;
  std::vector<FieldViolation> violations_;
  std::size_t count_ = 0;
};

}  // namespace

absl::StatusOr<BoundCall> KernelSpec::Bind(const std::map<std::string, ParamValue>& params,
                                           const std::map<std::string, Signature>& inputs, int precision) const {
  Binder binder(*this, inputs);
  binder.BindParams(params);
  binder.BindInputs();
  binder.BindPrecision(precision);
  if (!shapes_) binder.MatchInputShapes();
  if (!binder.ok()) return binder.Refusal();

  binder.BindOutputTypes();
  if (shapes_) {
    if (absl::Status status = shapes_(binder.call()); !status.ok()) return status;
    if (binder.call().outputs.size() != outputs_.size()) {
      return absl::InternalError(ToAbsl(name_ + ": its shape rule made " +
                                        std::to_string(binder.call().outputs.size()) + " outputs of " +
                                        std::to_string(outputs_.size())));
    }
  } else {
    binder.MakeOutputShapes();
  }
  binder.CheckOutputSizes();
  if (!binder.ok()) return binder.Refusal();
  return std::move(binder.call());
}

}  // namespace hotplate
