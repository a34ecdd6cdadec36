// Calls that are wrong in one place, made from the specs themselves: of every kernel each input of every other dtype,
// of other ranks and sizes, with too many elements, missing and unknown; each parameter beyond its bounds, of another
// type, missing and unknown; precisions that the kernel does not have, and the same bits of one that measures. What
// must be refused is INVALID_ARGUMENT and names the place; what a kernel may take or not (a rank more is a batch to
// some) is refused in no other way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/base/status.h"
#include "kernels/call/call.h"
#include "tests/conformance/case.h"

namespace hotplate::conformance {
namespace {

struct BadCall {
  std::map<std::string, ParamValue> params;
  std::map<std::string, Signature> inputs;
};

class BadCalls : public testing::TestWithParam<KernelSuite> {
 protected:
  void SetUp() override {
    spec_ = BuiltinCatalog().Find(GetParam().kernel)->get();
    static std::map<std::string, BadCall>& known = *new std::map<std::string, BadCall>;
    const auto [right, is_new] = known.try_emplace(GetParam().kernel);
    if (is_new) right->second = SmallestOf(GetParam());
    right_ = right->second;
    ASSERT_TRUE(Bind(right_).ok()) << Bind(right_);
  }

  // A call that is right: of those with elements in every input the smallest.
  BadCall SmallestOf(const KernelSuite& suite) const {
    BadCall smallest;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const Case& one : suite.cases()) {
      std::mt19937_64 random(1);
      BadCall call{.params = one.params, .inputs = {}};
      std::size_t elements = 0;
      bool empty = false;
      for (const auto& [name, array] : one.inputs(random)) {
        call.inputs.emplace(name, array.signature());
        elements += array.size();
        empty = empty || array.size() == 0;
      }
      for (const auto& [name, other] : one.same_as) call.inputs.emplace(name, call.inputs.at(other));
      if (empty || elements >= least || !Bind(call).ok()) continue;
      least = elements;
      smallest = std::move(call);
    }
    return smallest;
  }

  absl::Status Bind(const BadCall& call, int precision = HOTPLATE_PRECISION_DEFAULT, bool deterministic = false) const {
    return spec_->Bind(call.params, call.inputs, precision, deterministic).status();
  }

  // The violation that has the field; empty if none has.
  static std::string Said(const absl::Status& status, const std::string& field) {
    for (const FieldViolation& one : Violations(status)) {
      if (one.field == field) return one.description.empty() ? "nothing" : one.description;
    }
    return "";
  }

  void ExpectRefused(const BadCall& call, const std::string& field, const std::string& what) const {
    ExpectRefused(Bind(call), field, what);
  }

  static void ExpectRefused(const absl::Status& status, const std::string& field, const std::string& what) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << what << ": " << status;
    EXPECT_NE(Said(status, field), "") << what << " is not told about " << field << ": " << status;
  }

  // Taken, or refused as anything wrong is: by the name of something that the kernel has.
  void ExpectNoOtherRefusal(const BadCall& call, const std::string& what) const {
    const absl::Status status = Bind(call);
    if (status.ok()) return;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << what << ": " << status;
    ASSERT_FALSE(Violations(status).empty()) << what << ": " << status;
    for (const FieldViolation& one : Violations(status)) {
      bool known = false;
      for (const ArgumentSpec& input : spec_->inputs()) known = known || one.field == "inputs." + input.name;
      for (const ArgumentSpec& output : spec_->outputs()) known = known || one.field == "outputs." + output.name;
      for (const ParamSpec& param : spec_->params()) known = known || one.field == "params." + param.name;
      EXPECT_TRUE(known) << what << " is told about \"" << one.field << "\"";
    }
  }

  bool Takes(const ArgumentSpec& input, const ArgumentRules& rules, DType dtype) const {
    if (rules.type.fixed) return *rules.type.fixed == dtype;
    for (const TypeVariable& variable : spec_->type_variables()) {
      if (variable.name != rules.type.variable) continue;
      return std::find(variable.dtypes.begin(), variable.dtypes.end(), dtype) != variable.dtypes.end();
    }
    ADD_FAILURE() << input.name << " has no type";
    return false;
  }

  const KernelSpec* spec_ = nullptr;
  BadCall right_;
};

TEST_P(BadCalls, InputsOfOtherTypes) {
  for (std::size_t i = 0; i < spec_->inputs().size(); ++i) {
    const ArgumentSpec& input = spec_->inputs()[i];
    for (int number = 1; number <= kDTypeCount; ++number) {
      const auto dtype = static_cast<DType>(number);
      BadCall call = right_;
      call.inputs.at(input.name).dtype = dtype;
      const std::string what = input.name + " of " + std::string(Name(dtype));
      if (Takes(input, spec_->input_rules()[i], dtype)) {
        ExpectNoOtherRefusal(call, what);  // another input's type may be the same variable
      } else {
        ExpectRefused(call, "inputs." + input.name, what);
      }
    }
  }
}

TEST_P(BadCalls, InputsOfOtherRanksAndSizes) {
  for (std::size_t i = 0; i < spec_->inputs().size(); ++i) {
    const ArgumentSpec& input = spec_->inputs()[i];
    const ShapeRule& rule = spec_->input_rules()[i].shape;
    const Shape& shape = right_.inputs.at(input.name).shape;
    const auto with = [&](const Shape& other) {
      BadCall call = right_;
      call.inputs.at(input.name).shape = other;
      return call;
    };
    const std::string field = "inputs." + input.name;
    const bool needs_dimensions = rule.dimensions.size() > (rule.rest ? 1U : 0U);
    for (std::size_t rank = 0; rank <= 9; ++rank) {
      Shape other = shape;
      while (other.size() > rank) other.erase(other.begin());
      while (other.size() < rank) other.insert(other.begin(), 1);
      const std::string what = input.name + " of rank " + std::to_string(rank);
      // Between these a rank more may be a batch, and a rank less a vector in place of a matrix.
      const bool impossible = rank > HOTPLATE_MAX_RANK || (rank == 0 && needs_dimensions);
      if (impossible) {
        ExpectRefused(with(other), field, what);
      } else {
        ExpectNoOtherRefusal(with(other), what);
      }
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      for (const std::int64_t size : {std::int64_t{0}, shape[axis] + 1, shape[axis] + 17}) {
        Shape other = shape;
        other[axis] = size;
        ExpectNoOtherRefusal(with(other), input.name + " of " + ToString(other));
      }
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
      for (const std::int64_t size : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), kMost, kMost / 2}) {
        Shape other = shape;
        other[axis] = size;
        ExpectRefused(with(other), field, input.name + " of " + ToString(other));
      }
    }
  }
}

TEST_P(BadCalls, InputsThatAreMissingOrUnknown) {
  for (const ArgumentSpec& input : spec_->inputs()) {
    BadCall call = right_;
    call.inputs.erase(input.name);
    ExpectRefused(call, "inputs." + input.name, "no " + input.name);
  }
  BadCall call = right_;
  call.inputs["no_such_input"] = {DType::kFloat32, {1}};
  ExpectRefused(call, "inputs.no_such_input", "an unknown input");
}

TEST_P(BadCalls, Parameters) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const ParamSpec& param : spec_->params()) {
    std::vector<ParamValue> wrong;
    if (param.type != hotplate::ParamType::kChoice) wrong.emplace_back(std::string("1"));
    if (param.type == hotplate::ParamType::kChoice) {
      wrong = {std::string("no_such_choice"), std::string(), std::int64_t{1}, 1.0, true};
    } else if (param.type == hotplate::ParamType::kBool) {
      wrong.insert(wrong.end(), {std::int64_t{1}, 1.0});
    } else {
      for (const double value : {infinity, -infinity, std::nan("")}) wrong.emplace_back(value);
      wrong.emplace_back(true);
      if (param.minimum) wrong.emplace_back(std::nextafter(*param.minimum, -infinity) - 1);
      if (param.maximum) wrong.emplace_back(std::nextafter(*param.maximum, infinity) + 1);
      if (param.type == hotplate::ParamType::kInt) wrong.emplace_back(0.5 + param.minimum.value_or(0));
    }
    for (const ParamValue& value : wrong) {
      BadCall call = right_;
      call.params[param.name] = value;
      ExpectRefused(call, "params." + param.name, param.name + " = " + ToString(value));
    }
    BadCall call = right_;
    call.params.erase(param.name);
    if (param.default_value) {
      ExpectNoOtherRefusal(call, "no " + param.name);
    } else {
      ExpectRefused(call, "params." + param.name, "no " + param.name);
    }
    // Whatever it accepts, nothing but a refusal may become of it.
    for (const double value : {param.minimum.value_or(-1e300), param.maximum.value_or(1e300)}) {
      if (param.type != hotplate::ParamType::kInt && param.type != hotplate::ParamType::kFloat) continue;
      BadCall extreme = right_;
      extreme.params[param.name] = value;
      ExpectNoOtherRefusal(extreme, param.name + " = " + ToString(ParamValue(value)));
    }
  }
  BadCall call = right_;
  call.params["no_such_parameter"] = 1.0;
  ExpectRefused(call, "params.no_such_parameter", "an unknown parameter");
}

// Of products alone, where they are of floats: a kernel that another one was copied from must not take them along.
TEST_P(BadCalls, Precisions) {
  bool floats = false;
  for (const auto& [name, signature] : right_.inputs) floats = floats || !IsInteger(signature.dtype);
  const bool takes = GetParam().kernel == std::string("matmul");
  EXPECT_EQ(spec_->takes_precision(), takes);
  for (const int precision : {HOTPLATE_PRECISION_TF32, HOTPLATE_PRECISION_BF16, HOTPLATE_PRECISION_F16}) {
    const absl::Status status = Bind(right_, precision);
    if (takes && floats) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      ExpectRefused(status, "precision", PrecisionName(precision));
      EXPECT_NE(Said(status, "precision").find(PrecisionName(precision)), std::string::npos) << status;
    }
  }
  for (const int unknown : {-1, HOTPLATE_PRECISION_F16 + 1, std::numeric_limits<int>::max()}) {
    ExpectRefused(Bind(right_, unknown), "precision", "precision " + std::to_string(unknown));
  }
}

TEST_P(BadCalls, TheSameBitsOfAMeasurement) {
  const absl::Status status = Bind(right_, HOTPLATE_PRECISION_DEFAULT, /*deterministic=*/true);
  if (GetParam().kernel == std::string("transfer_probe")) {
    ExpectRefused(status, "deterministic", "the same bits");
    EXPECT_NE(Said(status, "deterministic").find("measures"), std::string::npos) << status;
  } else {
    EXPECT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadCalls, testing::ValuesIn(KernelSuites().begin(), KernelSuites().end()),
                         [](const testing::TestParamInfo<KernelSuite>& one) { return std::string(one.param.kernel); });

}  // namespace
}  // namespace hotplate::conformance
