#include "kernels/expression/functions.h"

#include <algorithm>
#include <utility>

namespace hotplate::expression {
namespace {

using Kind = Function::Kind;

constexpr std::pair<std::string_view, Kind> kSpecial[] = {
    {"astype", Kind::kAstype},   {"round", Kind::kRound},
    {"clip", Kind::kClip},       {"transpose", Kind::kTranspose},
    {"strided", Kind::kStrided}, {"broadcast_to", Kind::kBroadcastTo},
    {"index", Kind::kIndex},     {"permute_dims", Kind::kTranspose},
};

constexpr std::pair<std::string_view, Reduction> kReductions[] = {
    {"sum", Reduction::kSum},       {"prod", Reduction::kProd}, {"min", Reduction::kMin},
    {"max", Reduction::kMax},       {"amin", Reduction::kMin},  {"amax", Reduction::kMax},
    {"any", Reduction::kAny},       {"all", Reduction::kAll},   {"argmin", Reduction::kArgMin},
    {"argmax", Reduction::kArgMax}, {"mean", Reduction::kMean}, {"var", Reduction::kVar},
    {"std", Reduction::kStd},
};

// Beyond those in the table of operators.
constexpr std::pair<std::string_view, Operator> kMoreAliases[] = {{"bitwise_not", Operator::kInvert}};

// Sorted by name.
std::vector<Function> MakeFunctions() {
  std::vector<Function> all;
  for (const OperatorRow& row : Operators()) {
    all.push_back({.name = row.name, .op = row.op});
    if (!row.alias.empty()) all.push_back({.name = row.alias, .op = row.op});
  }
  for (const auto& [name, op] : kMoreAliases) all.push_back({.name = name, .op = op});
  for (const auto& [name, reduction] : kReductions) {
    all.push_back({.name = name, .kind = Kind::kReduction, .reduction = reduction});
  }
  for (const auto& [name, kind] : kSpecial) all.push_back({.name = name, .kind = kind});
  for (int number = 1; number <= kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    all.push_back({.name = Name(dtype), .kind = Kind::kCast, .dtype = dtype});
  }
  std::ranges::sort(all, {}, &Function::name);
  return all;
}

const std::vector<Function>& Functions() {
  static const std::vector<Function> all = MakeFunctions();
  return all;
}

}  // namespace

const Function* FindFunction(std::string_view name) {
  const std::vector<Function>& all = Functions();
  const auto found = std::ranges::lower_bound(all, name, {}, &Function::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const Function& function : Functions()) names.emplace_back(function.name);
  return names;
}

}  // namespace hotplate::expression
