#include "kernels/expression/cuda_text_folds.h"

#include <algorithm>
#include <bit>

namespace hotplate::expression {
namespace {

// One reduction's part of a state: its variables, each in 8 bytes.
struct Fields {
  std::vector<std::string> types;
};

DType NodeType(const Program& program, int output) {
  const Output& out = program.outputs[static_cast<std::size_t>(output)];
  return program.nodes[static_cast<std::size_t>(out.node)].dtype;
}

bool IsSum(Reduction reduction) {
  return reduction == Reduction::kSum || reduction == Reduction::kMean || IsAboutMean(reduction);
}

bool IsWhole(DType dtype) { return dtype == DType::kBool || IsInteger(dtype); }
bool IsDouble(DType dtype) { return RealPart(dtype) == DType::kFloat64; }

Fields FieldsOf(Reduction reduction, DType dtype, bool about_mean) {
  if (IsSum(reduction) && !about_mean) {
    if (IsWhole(dtype)) return {{"U64"}};
    const std::size_t parts = (IsComplex(dtype) ? 2 : 1) * (IsDouble(dtype) ? 2 : 1);
    return {std::vector<std::string>(parts, "double")};
  }
  if (IsSum(reduction)) return {std::vector<std::string>(IsDouble(dtype) ? 2 : 1, "double")};
  switch (reduction) {
    case Reduction::kProd:
      if (IsWhole(dtype)) return {{"U64"}};
      return {std::vector<std::string>(IsComplex(dtype) ? 2 : 1, "double")};
    case Reduction::kAny:
    case Reduction::kAll:
      return {{"bool"}};
    case Reduction::kArgMin:
    case Reduction::kArgMax:
      return {{ValueType(dtype), "I64"}};
    default:
      return {{ValueType(dtype)}};
  }
}

// "s.a3"
std::string Field(const char* state, int part, int output) {
  return std::string(state) + "." + static_cast<char>('a' + part) + std::to_string(output);
}

std::string Least(DType dtype) {
  const std::string type = ValueType(dtype);
  if (dtype == DType::kBool) return "false";
  if (!IsWhole(dtype)) return "-Infinity((" + type + ")0)";
  return dtype >= DType::kInt8 && dtype <= DType::kInt64 ? "(" + type + ")(1ULL << (8 * sizeof(" + type + ") - 1))"
                                                         : "(" + type + ")0";
}

std::string Most(DType dtype) {
  const std::string type = ValueType(dtype);
  if (dtype == DType::kBool) return "true";
  if (!IsWhole(dtype)) return "Infinity((" + type + ")0)";
  return dtype >= DType::kInt8 && dtype <= DType::kInt64 ? "(" + type + ")~(1ULL << (8 * sizeof(" + type + ") - 1))"
                                                         : "(" + type + ")~0ULL";
}

// Adds `value` to the parts of a sum of doubles, from `part` on.
std::string AddPart(bool two, int part, int output, const std::string& value) {
  if (!two) return Field("s", part, output) + " += " + value + ";";
  return "AddTwo(" + Field("s", part, output) + ", " + Field("s", part + 1, output) + ", " + value + ");";
}

}  // namespace

std::uint64_t StateBytes(const Program& program, const std::vector<int>& outputs, bool about_mean) {
  std::uint64_t fields = 0;
  for (const int output : outputs) {
    const Reduction reduction = program.outputs[static_cast<std::size_t>(output)].reduction;
    fields += FieldsOf(reduction, NodeType(program, output), about_mean).types.size();
  }
  return 8 * fields;
}

FoldText::FoldText(const Program& program, const CudaLayout& layout, const FoldGroup& group, int number,
                   NodePrinter& nodes)
    : program_(program),
      layout_(layout),
      group_(group),
      number_(std::to_string(number)),
      nodes_(nodes),
      kept_(group.reduced) {
  kept_.flip();
  for (std::size_t axis = 0; axis < layout.sizes.size(); ++axis) {
    (group.reduced[axis] ? description_.count : description_.outputs) *= static_cast<std::uint64_t>(layout.sizes[axis]);
  }
  description_.inner = !group.reduced.empty() && group.reduced.back();
  description_.state_bytes = StateBytes(program, group.outputs, group.about_mean);
  if (group.about_mean) return;
  for (const int output : group.outputs) {
    if (!IsAboutMean(program.outputs[static_cast<std::size_t>(output)].reduction)) continue;
    description_.means += IsComplex(NodeType(program, output)) ? 2 : 1;
  }
}

std::string FoldText::State() const {
  std::string text = "struct S" + number_ + " {\n";
  for (const int output : group_.outputs) {
    const Reduction reduction = program_.outputs[static_cast<std::size_t>(output)].reduction;
    const Fields fields = FieldsOf(reduction, NodeType(program_, output), group_.about_mean);
    for (std::size_t i = 0; i < fields.types.size(); ++i) {
      text += "  alignas(8) " + fields.types[i] + " " + static_cast<char>('a' + i) + std::to_string(output) + ";\n";
    }
  }
  return text + "};\n";
}

std::string FoldText::CountSlot() { return nodes_.Value("count" + number_, "U64", description_.count); }

std::string FoldText::Start() const {
  std::string text;
  for (const int output : group_.outputs) {
    const Reduction reduction = program_.outputs[static_cast<std::size_t>(output)].reduction;
    const DType dtype = NodeType(program_, output);
    const std::size_t parts = FieldsOf(reduction, dtype, group_.about_mean).types.size();
    for (std::size_t part = 0; part < parts; ++part) {
      std::string value = "0";
      if (reduction == Reduction::kProd && part == 0) value = "1";
      if (reduction == Reduction::kAny) value = "false";
      if (reduction == Reduction::kAll) value = "true";
      if (reduction == Reduction::kMin) value = Most(dtype);
      if (reduction == Reduction::kMax) value = Least(dtype);
      if ((reduction == Reduction::kArgMin || reduction == Reduction::kArgMax) && part == 1) value = "-1";
      text += "  " + Field("s", static_cast<int>(part), output) + " = " + value + ";\n";
    }
  }
  return text;
}

// The value's node at this place into `s`.
std::string FoldText::Add(int output) {
  const Output& out = program_.outputs[static_cast<std::size_t>(output)];
  const DType dtype = NodeType(program_, output);
  std::string v = "v" + std::to_string(out.node);
  const bool two = IsDouble(dtype);
  const auto part = [&](int i) { return Field("s", i, output); };
  const std::string wide = "(double)" + v;
  if (IsSum(out.reduction) && group_.about_mean) {
    const std::string m = "m" + std::to_string(output);
    if (!IsComplex(dtype))
      return "{ const double d = " + wide + " - " + m + "; " + AddPart(two, 0, output, "d * d") + " }";
    return "{ const double d = (double)" + v + ".re - " + m + ", e = (double)" + v + ".im - " + m + "i; " +
           AddPart(two, 0, output, "d * d + e * e") + " }";
  }
  if (IsSum(out.reduction)) {
    if (IsWhole(dtype)) return part(0) + " += (U64)" + v + ";";
    if (!IsComplex(dtype)) return AddPart(two, 0, output, wide);
    return AddPart(two, 0, output, wide + ".re") + " " + AddPart(two, two ? 2 : 1, output, wide + ".im");
  }
  switch (out.reduction) {
    case Reduction::kProd:
      if (IsWhole(dtype)) return part(0) + " *= (U64)" + v + ";";
      if (!IsComplex(dtype)) return part(0) + " *= " + wide + ";";
      return "{ const C128 m = Multiply(Pair(" + part(0) + ", " + part(1) + "), Pair(" + wide + ".re, " + wide +
             ".im)); " + part(0) + " = m.re; " + part(1) + " = m.im; }";
    case Reduction::kAny:
      return part(0) + " = " + part(0) + " || Truth(" + v + ");";
    case Reduction::kAll:
      return part(0) + " = " + part(0) + " && Truth(" + v + ");";
    case Reduction::kMin:
      return part(0) + " = Minimum(" + part(0) + ", " + v + ");";
    case Reduction::kMax:
      return part(0) + " = Maximum(" + part(0) + ", " + v + ");";
    default:
      // The first of equal ones, whatever the order in which they come.
      return std::string(out.reduction == Reduction::kArgMin ? "Lower(" : "Higher(") + part(0) + ", " + part(1) + ", " +
             v + ", (I64)r);";
  }
}

std::string FoldText::Merge() const {
  std::string text;
  for (const int output : group_.outputs) {
    const Reduction reduction = program_.outputs[static_cast<std::size_t>(output)].reduction;
    const DType dtype = NodeType(program_, output);
    const auto s = [&](int i) { return Field("s", i, output); };
    const auto t = [&](int i) { return Field("t", i, output); };
    text += "  ";
    if (IsSum(reduction)) {
      const int parts = static_cast<int>(FieldsOf(reduction, dtype, group_.about_mean).types.size());
      const bool two = IsDouble(dtype);
      for (int i = 0; i < parts; i += two ? 2 : 1) {
        text += AddPart(two, i, output, t(i)) + " ";
        if (two) text += s(i + 1) + " += " + t(i + 1) + "; ";
      }
      text += "\n";
      continue;
    }
    switch (reduction) {
      case Reduction::kProd:
        if (IsComplex(dtype)) {
          text += "{ const C128 m = Multiply(Pair(" + s(0) + ", " + s(1) + "), Pair(" + t(0) + ", " + t(1) + ")); " +
                  s(0) + " = m.re; " + s(1) + " = m.im; }";
        } else {
          text += s(0) + " *= " + t(0) + ";";
        }
        break;
      case Reduction::kAny:
        text += s(0) + " = " + s(0) + " || " + t(0) + ";";
        break;
      case Reduction::kAll:
        text += s(0) + " = " + s(0) + " && " + t(0) + ";";
        break;
      case Reduction::kMin:
        text += s(0) + " = Minimum(" + s(0) + ", " + t(0) + ");";
        break;
      case Reduction::kMax:
        text += s(0) + " = Maximum(" + s(0) + ", " + t(0) + ");";
        break;
      default:
        text += std::string(reduction == Reduction::kArgMin ? "Lower(" : "Higher(") + s(0) + ", " + s(1) + ", " + t(0) +
                ", " + t(1) + ");";
    }
    text += "\n";
  }
  return text;
}

std::string FoldText::FinishOne(int output, int& mean) {
  const Output& out = program_.outputs[static_cast<std::size_t>(output)];
  const DType dtype = NodeType(program_, output), to = out.signature.dtype;
  const auto s = [&](int i) { return Field("s", i, output); };
  const bool two = IsDouble(dtype);
  const auto sum = [&](int i) { return two ? "OfTwo(" + s(2 * i) + ", " + s(2 * i + 1) + ")" : s(i); };
  if (IsAboutMean(out.reduction) && !group_.about_mean) {
    const std::string memory =
        nodes_.Slot("means" + number_, "double*", {.kind = CudaSlot::Kind::kMeans, .index = std::stoi(number_)});
    std::string text;
    for (int i = 0; i < (IsComplex(dtype) ? 2 : 1); ++i) {
      text += "  " + memory + "[" + std::to_string(mean++) + " * " +
              nodes_.Value("outputs" + number_, "U64", description_.outputs) + " + o] = " + sum(i) + " / (double)" +
              CountSlot() + ";\n";
    }
    return text;
  }
  const std::string memory = nodes_.Slot("y" + std::to_string(output), std::string(MemoryType(to)) + "*",
                                         {.kind = CudaSlot::Kind::kOutput, .index = output});
  // A value and its dtype.
  std::string value;
  DType from = DType::kFloat64;
  const auto pair = [&](const std::string& divisor) {
    from = DType::kComplex128;
    return "Pair(" + sum(0) + divisor + ", " + sum(1) + divisor + ")";
  };
  switch (out.reduction) {
    case Reduction::kSum:
      from = IsWhole(dtype) ? DType::kUInt64 : from;
      value = IsWhole(dtype) ? s(0) : IsComplex(dtype) ? pair("") : sum(0);
      break;
    case Reduction::kMean: {
      const std::string divisor = " / (double)" + CountSlot();
      value = IsWhole(dtype) ? "(double)(I64)" + s(0) + divisor : IsComplex(dtype) ? pair(divisor) : sum(0) + divisor;
      break;
    }
    case Reduction::kVar:
    case Reduction::kStd: {
      const double divisor = std::max(static_cast<double>(description_.count) - out.ddof, 0.0);
      value = sum(0) + " / " +
              nodes_.Value("divisor" + std::to_string(output), "double", std::bit_cast<std::uint64_t>(divisor));
      if (out.reduction == Reduction::kStd) value = "sqrt(" + value + ")";
      break;
    }
    case Reduction::kProd:
      from = IsWhole(dtype) ? DType::kUInt64 : IsComplex(dtype) ? DType::kComplex128 : from;
      value = IsComplex(dtype) ? "Pair(" + s(0) + ", " + s(1) + ")" : s(0);
      break;
    case Reduction::kAny:
    case Reduction::kAll:
      from = DType::kBool;
      value = s(0);
      break;
    case Reduction::kArgMin:
    case Reduction::kArgMax:
      from = DType::kInt64;
      value = s(1);
      break;
    default:
      from = dtype;
      value = s(0);
  }
  const std::string name = "r" + std::to_string(output);
  return std::string("  const ") + ValueType(from) + " " + name + " = " + value + ";\n  Put(" + memory + " + o, " +
         CastText(from, to, name, true) + ");\n";
}

std::string FoldText::Finish() {
  std::string text;
  int mean = 0;
  for (const int output : group_.outputs) text += FinishOne(output, mean);
  return text;
}

// The pass itself: coordinates along the kept axes, what they add to each view, and the loop over the reduced ones.
std::string FoldText::Walks() {
  std::vector<int> roots;
  for (const int output : group_.outputs) roots.push_back(program_.outputs[static_cast<std::size_t>(output)].node);
  const std::vector<bool> wanted = nodes_.Needed(roots);
  const bool checked = nodes_.HasChecks();
  std::vector<bool> used = nodes_.AxesOfViews(wanted, false);
  const std::vector<bool> indices = nodes_.AxesOfIndices(wanted);
  for (std::size_t axis = 0; axis < used.size(); ++axis) used[axis] = used[axis] || indices[axis] || checked;
  const auto split = [&](const std::string& indent, const char* from, const std::vector<bool>& axes) {
    std::string text;
    std::vector<int> these;
    for (int axis = 0; axis < layout_.rank(); ++axis) {
      if (axes[static_cast<std::size_t>(axis)]) these.push_back(axis);
    }
    std::string rest = from;
    if (these.size() > 1) {
      text += indent + "U64 " + from + "_rest = " + from + ";\n";
      rest = std::string(from) + "_rest";
    }
    for (std::size_t i = these.size(); i-- > 0;) {
      const std::string c = "c" + std::to_string(these[i]), n = i > 0 ? nodes_.Size(these[i]) : "";
      const bool uses = used[static_cast<std::size_t>(these[i])];
      // 32 bits divide faster, where they suffice.
      if (uses) text += indent + "const S " + c + " = (S)" + (i > 0 ? "((U)" + rest + " % " + n + ")" : rest) + ";\n";
      if (i > 0) text += indent + rest + " = (U)" + rest + " / " + n + ";\n";
    }
    return text;
  };
  std::string text = split("      ", "o", kept_);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (!wanted[i] || node.kind != Node::Kind::kView) continue;
    const auto view = static_cast<std::size_t>(node.leaf);
    const std::string name = "const S b" + std::to_string(view) + " =";
    if (text.find(name) == std::string::npos) text += "      " + name + " " + nodes_.Base(view, kept_) + ";\n";
  }
  if (group_.about_mean) {
    const std::string of = std::to_string(group_.means_of);
    const std::string memory =
        nodes_.Slot("means" + of, "double*", {.kind = CudaSlot::Kind::kMeans, .index = group_.means_of});
    const std::string outputs = nodes_.Value("outputs" + of, "U64", description_.outputs);
    int mean = 0;
    for (const int output : group_.outputs) {
      const auto read = [&] { return memory + "[" + std::to_string(mean++) + " * " + outputs + " + o];\n"; };
      text += "      const double m" + std::to_string(output) + " = " + read();
      if (IsComplex(NodeType(program_, output)))
        text += "      const double m" + std::to_string(output) + "i = " + read();
    }
  }
  text +=
      "      const U64 step = splits * lanes;\n      _Pragma(\"unroll 4\")\n"
      "      for (U64 r = part * lanes + lane; r < " +
      CountSlot() + "; r += step) {\n";
  text += split("        ", "r", group_.reduced);
  NodeText how{.indent = "        ", .bases = "b", .walked = group_.reduced};
  if (checked) {
    text += "        const U64 place = 0";
    for (int axis = 0; axis < layout_.rank(); ++axis)
      text += " + (U64)c" + std::to_string(axis) + " * " + nodes_.PlaceStride(axis);
    text += ";\n";
    how.place = "place";
  }
  text += nodes_.Compute(wanted, how);
  for (const int output : group_.outputs) text += "        " + Add(output) + "\n";
  return text + "      }\n";
}

std::string FoldText::Functions() {
  using Kind = CudaSlot::Kind;
  const int number = std::stoi(number_);
  const std::string n = number_, state = "S" + n;
  const std::string lanes = nodes_.Slot("lanes" + n, "unsigned", {.kind = Kind::kLanes, .index = number});
  const std::string splits = nodes_.Slot("splits" + n, "U64", {.kind = Kind::kSplits, .index = number});
  const std::string merge_lanes =
      nodes_.Slot("merge_lanes" + n, "unsigned", {.kind = Kind::kMergeLanes, .index = number});
  const std::string partials =
      "((" + state + "*)" + nodes_.Slot("partials" + n, "void*", {.kind = Kind::kPartials, .index = number}) + ")";
  const std::string outputs = nodes_.Value("outputs" + n, "U64", description_.outputs);
  const std::string walks = Walks(), finish = Finish();
  std::string text = "FN void Start" + n + "(" + state + "& s) {\n" + Start() + "}\n";
  text += "FN void Merge" + n + "(" + state + "& s, const " + state + "& t) {\n" + Merge() + "}\n";
  text += "FN void Finish" + n + "(const P& p, const U64 o, const " + state + "& s) {\n" + finish + "}\n";
  // All threads of a block come here; the first lane gets what its neighbours have.
  text += "FN void Tree" + n + "(" + state + "* all, " + state +
          "& s, const unsigned lanes) {\n"
          "  __syncthreads();\n"
          "  all[threadIdx.x] = s;\n"
          "  for (unsigned width = lanes / 2; width > 0; width /= 2) {\n"
          "    __syncthreads();\n"
          "    if (threadIdx.x % lanes < width) Merge" +
          n +
          "(all[threadIdx.x], all[threadIdx.x + width]);\n"
          "  }\n"
          "  s = all[threadIdx.x];\n}\n";
  const auto open = [&](const std::string& name, const std::string& width) {
    return "extern \"C\" __global__ void __launch_bounds__(256) " + name + n +
           "(PARAMETERS, const U64 begin, const U64 end) {\n  GIVEN\n  __shared__ " + state +
           " all[256];\n"
           "  const unsigned lanes = " +
           width +
           ", lane = threadIdx.x % lanes, rows = 256u / lanes;\n"
           "  const U64 splits = " +
           splits +
           ";\n"
           "  for (U64 first = begin + (U64)blockIdx.x * rows; first < end; first += (U64)gridDim.x * rows) {\n"
           "    const U64 item = first + threadIdx.x / lanes;\n"
           "    " +
           state + " s;\n    Start" + n + "(s);\n";
  };
  text += open("fold_", lanes) + "    if (item < end) {\n      const U64 o = item % " + outputs + ", part = item / " +
          outputs + ";\n" + walks + "    }\n    Tree" + n +
          "(all, s, lanes);\n    if (item < end && lane == 0) {\n"
          "      if (splits > 1) " +
          partials + "[item] = s; else Finish" + n + "(p, item, s);\n    }\n  }\n}\n";
  text += open("merge_", merge_lanes) +
          "    if (item < end) {\n"
          "      for (U64 part = lane; part < splits; part += lanes) Merge" +
          n + "(s, " + partials + "[part * " + outputs +
          " + item]);\n"
          "    }\n    Tree" +
          n + "(all, s, lanes);\n    if (item < end && lane == 0) Finish" + n + "(p, item, s);\n  }\n}\n";
  return text;
}

}  // namespace hotplate::expression
