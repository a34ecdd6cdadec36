#include "tests/conformance/empty_arrays.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

using Params = std::map<std::string, ParamValue>;
using Types = std::map<std::string, DType>;

// Each of `all` with each value of one more name.
template <typename Map, typename Value>
std::vector<Map> Times(const std::vector<Map>& all, const std::string& name, const std::vector<Value>& values) {
  std::vector<Map> product;
  for (const Map& one : all) {
    for (const Value& value : values) {
      product.push_back(one);
      product.back()[name] = value;
    }
  }
  return product;
}

// What a parameter is tried with: every choice; a number's least one, and the default.
std::vector<ParamValue> ValuesOf(const ParamSpec& param) {
  std::set<ParamValue> values;
  if (param.default_value) values.insert(*param.default_value);
  if (param.type == ParamType::kChoice) values.insert(param.choices.begin(), param.choices.end());
  if (param.type == ParamType::kBool) values = {false, true};
  if (param.type == ParamType::kInt && param.minimum.value_or(0) >= 0) {
    values.insert(static_cast<std::int64_t>(param.minimum.value_or(0)));
  }
  if (values.empty()) values.insert(std::max(0.0, param.minimum.value_or(0)));
  return {values.begin(), values.end()};
}

// Sizes of the symbols, by name, and of "...".
struct Sizes {
  std::map<std::string, std::int64_t> symbols;
  Shape rest;
};

std::vector<Sizes> SizesOf(const KernelSpec& spec) {
  constexpr std::int64_t kOther = 3;
  Sizes none;
  bool rest = false;
  for (const ArgumentRules& rules : spec.input_rules()) {
    rest = rest || rules.shape.rest.has_value();
    for (const Dimension& dimension : rules.shape.dimensions) {
      if (dimension.kind == Dimension::Kind::kSymbol) none.symbols[dimension.symbol] = kOther;
    }
  }
  std::vector<Sizes> without_rest = {none};
  for (const auto& [name, size] : none.symbols) {
    without_rest.push_back(none);
    without_rest.back().symbols[name] = 0;
  }
  Sizes all = none;
  for (auto& [name, size] : all.symbols) size = 0;
  without_rest.push_back(all);
  if (!rest) return without_rest;
  std::vector<Sizes> sizes;
  for (const Sizes& one : without_rest) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{2}, Shape{2, 0, 3}}) {
      sizes.push_back({one.symbols, shape});
    }
  }
  return sizes;
}

Signature SignatureOf(const ArgumentRules& rules, const Types& types, const Sizes& sizes) {
  Signature signature{.dtype = rules.type.fixed ? *rules.type.fixed : types.at(rules.type.variable), .shape = {}};
  for (const Dimension& dimension : rules.shape.dimensions) {
    if (dimension.kind == Dimension::Kind::kRest) {
      signature.shape.insert(signature.shape.end(), sizes.rest.begin(), sizes.rest.end());
    } else {
      const bool symbol = dimension.kind == Dimension::Kind::kSymbol;
      signature.shape.push_back(symbol ? sizes.symbols.at(dimension.symbol) : dimension.number);
    }
  }
  return signature;
}

bool AnyIsEmpty(const BoundCall& call) {
  const auto empty = [](const Signature& signature) { return ElementCount(signature.shape) == std::size_t{0}; };
  return std::any_of(call.inputs.begin(), call.inputs.end(), empty) ||
         std::any_of(call.outputs.begin(), call.outputs.end(), empty);
}

std::map<std::string, TestArray> Zeros(const std::map<std::string, Signature>& signatures) {
  std::map<std::string, TestArray> arrays;
  for (const auto& [name, signature] : signatures) {
    TestArray array(signature);
    std::memset(array.data(), 0, array.bytes());
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

}  // namespace

std::vector<Case> EmptyArrayCases(const KernelSpec& spec) {
  std::vector<Params> params = {{}};
  for (const ParamSpec& param : spec.params()) params = Times(params, param.name, ValuesOf(param));
  std::vector<Types> types = {{}};
  for (const TypeVariable& variable : spec.type_variables()) types = Times(types, variable.name, variable.dtypes);

  std::vector<Case> cases;
  for (const Sizes& sizes : SizesOf(spec)) {
    for (const Types& type : types) {
      std::map<std::string, Signature> inputs;
      std::string what;
      for (std::size_t i = 0; i < spec.inputs().size(); ++i) {
        const Signature signature = SignatureOf(spec.input_rules()[i], type, sizes);
        what += spec.inputs()[i].name + " " + ToString(signature) + ", ";
        inputs.emplace(spec.inputs()[i].name, signature);
      }
      for (const Params& values : params) {
        const absl::StatusOr<BoundCall> call = spec.Bind(values, inputs, HOTPLATE_PRECISION_DEFAULT);
        if (!call.ok() || !AnyIsEmpty(*call)) continue;
        std::string name = what;
        for (const auto& [param, value] : values) name += param + "=" + hotplate::ToString(value) + " ";
        cases.push_back(
            {.name = name, .params = values, .inputs = [inputs](std::mt19937_64&) { return Zeros(inputs); }});
      }
    }
  }
  return cases;
}

std::string TroubleWithEmptyArrays(const KernelSuite& suite, const Device& device, Lane& lane) {
  const absl::StatusOr<SharedSpec> spec = BuiltinCatalog().Find(suite.kernel);
  if (!spec.ok()) return spec.status().ToString();
  const std::vector<Case> cases = EmptyArrayCases(**spec);
  if (cases.empty() && !(*spec)->inputs().empty()) return "no array of its can be empty";
  for (const Case& test_case : cases) {
    const auto trouble = [&](std::string_view what) {
      return std::string(suite.kernel) + " with " + test_case.name + ": " + std::string(what);
    };
    absl::StatusOr<Launch> launch = Prepare(suite.kernel, test_case, device);
    if (!launch.ok()) return trouble(launch.status().ToString());
    TaskControl control;
    const Outcome outcome = launch->Run(lane, control).outcome;
    for (const auto& [name, array] : launch->outputs) {
      if (!array.GuardIntact()) return trouble("something was written behind output " + name);
    }
    if (outcome.code() == HOTPLATE_INVALID) continue;
    if (!outcome.ok()) return trouble(outcome.message());
    const Verdict verdict = suite.verify({launch->call, launch->inputs, launch->outputs});
    if (verdict.error > 1) return trouble(verdict.worst);
  }
  return "";
}

}  // namespace hotplate::conformance
