#include "server/wire/catalogue.h"

namespace hotplate::wire {
namespace {

void Fill(const ParamSpec& param, v1::ParamSpec& out) {
  out.set_name(param.name);
  out.set_type(static_cast<v1::ParamType>(param.type));
  out.set_default_text(param.default_text);
  if (param.default_value && param.default_text.empty()) *out.mutable_default_value() = ToProto(*param.default_value);
  if (param.minimum) out.set_minimum(*param.minimum);
  if (param.maximum) out.set_maximum(*param.maximum);
  for (const std::string& choice : param.choices) out.add_choices(choice);
  out.set_docs(param.docs);
}

void Fill(const ArgumentSpec& argument, v1::ArgumentSpec& out) {
  out.set_name(argument.name);
  out.set_type(argument.type);
  out.set_shape(argument.shape);
  out.set_docs(argument.docs);
}

}  // namespace

v1::ParamValue ToProto(const ParamValue& value) {
  v1::ParamValue out;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    out.set_int_value(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.set_float_value(*real);
  } else if (const auto* yes = std::get_if<bool>(&value)) {
    out.set_bool_value(*yes);
  } else {
    out.set_string_value(std::get<std::string>(value));
  }
  return out;
}

static_assert(static_cast<int>(Determinism::kNever) == v1::DETERMINISM_NEVER);

v1::KernelSpec ToProto(const KernelSpec& spec) {
  v1::KernelSpec out;
  out.set_name(spec.name());
  out.set_version(spec.version());
  out.set_summary(spec.summary());
  out.set_docs(spec.docs());
  for (const TypeVariable& variable : spec.type_variables()) {
    v1::TypeVariable& one = *out.add_type_variables();
    one.set_name(variable.name);
    for (DType dtype : variable.dtypes) one.add_dtypes(static_cast<v1::DType>(dtype));
  }
  for (const ParamSpec& param : spec.params()) Fill(param, *out.add_params());
  for (const ArgumentSpec& input : spec.inputs()) Fill(input, *out.add_inputs());
  for (const ArgumentSpec& output : spec.outputs()) Fill(output, *out.add_outputs());
  out.set_cost(spec.cost_text());
  out.set_numerics(spec.numerics());
  if (spec.cancel_class() == CancelClass::kChunked) {
    out.set_cancel_class(v1::CANCEL_CLASS_CHUNKED);
    out.set_cancel_bound_ms(static_cast<std::uint32_t>(spec.cancel_bound_ms()));
  } else {
    out.set_cancel_class(v1::CANCEL_CLASS_UNINTERRUPTIBLE);
  }
  out.set_determinism(static_cast<v1::Determinism>(spec.determinism()));
  out.set_example(spec.example());
  out.set_hash(spec.Hash());
  return out;
}

v1::CatalogueFile ToCatalogueFile(const Catalog& catalog, const std::string& hotplate_version) {
  v1::CatalogueFile file;
  file.set_hotplate_version(hotplate_version);
  for (const SharedSpec& spec : catalog.specs()) *file.add_kernels() = ToProto(*spec);
  return file;
}

}  // namespace hotplate::wire
