// From the words of run to the job, against the catalogue that is built in.
#include "client/cli/jobs/job_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/command.h"
#include "client/cli/commands.h"
#include "client/cli/ending.h"
#include "client/cli/jobs/scalar_input.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<OptionSpec> RunOptions() {
  std::vector<OptionSpec> options = JobOptionsOfRun();
  options.insert(options.end(), CommonOptions().begin(), CommonOptions().end());
  return options;
}

absl::StatusOr<JobPlan> Plan(const std::vector<std::string>& words) {
  const auto word = KernelWord(RunOptions(), words);
  if (!word.ok()) return word.status();
  const auto kernel = FindKernel(EmbeddedKernels(), *word);
  if (!kernel.ok()) return kernel.status();
  return PlanJob(*kernel, RunOptions(), words);
}

std::string Refusal(const std::vector<std::string>& words, int exit = kExitInvalid) {
  const auto plan = Plan(words);
  EXPECT_FALSE(plan.ok());
  EXPECT_EQ(ExitCodeOf(plan.status()), exit) << plan.status();
  return std::string(plan.status().message());
}

TEST(Catalogue, IsBuiltIn) {
  std::set<std::string> names;
  for (const v1::KernelSpec& kernel : EmbeddedKernels()) names.insert(kernel.name());
  for (const char* name : {"vector_add", "trig_identity", "selu", "integrate2d", "mandelbrot", "matmul"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_EQ(EmbeddedCatalogue().hotplate_version(), HOTPLATE_VERSION);
}

TEST(Catalogue, NoOptionOfRunOrSubmitIsAKernelsParameter) {
  int parameters = 0;
  for (const char* command : {"run", "submit", "result"}) {
    std::set<std::string> taken;
    for (const OptionSpec& option : AllOptions(*FindCommand(command)))
      for (const std::string& name : option.AllNames()) {
        EXPECT_TRUE(taken.insert(name).second) << name << " twice in " << command;
        if (option.IsFlag() && name.rfind("--", 0) == 0) taken.insert("--no-" + name.substr(2));
      }
    for (const v1::KernelSpec& kernel : EmbeddedKernels())
      for (const OptionSpec& option : ParameterOptions(kernel))
        for (const std::string& name : option.AllNames()) {
          ++parameters;
          EXPECT_FALSE(taken.count(name)) << kernel.name() << "'s " << name << " is an option of " << command;
          if (option.negatable) {
            EXPECT_FALSE(taken.count("--no-" + name.substr(2))) << name;
          }
        }
  }
  EXPECT_GT(parameters, 0);
}

TEST(Catalogue, EveryExampleIsAWorkingCommandLine) {
  for (const v1::KernelSpec& kernel : EmbeddedKernels()) {
    std::vector<std::string> words;
    std::istringstream example(kernel.example());
    for (std::string word; example >> word;) words.push_back(word);
    ASSERT_GE(words.size(), 3u) << kernel.name();
    EXPECT_EQ(words[0], "hotplate");
    EXPECT_EQ(words[1], "run");
    const auto plan = Plan({words.begin() + 2, words.end()});
    EXPECT_TRUE(plan.ok()) << kernel.example() << ": " << plan.status();
  }
}

TEST(Catalogue, EveryDefaultIsAcceptedAsTyped) {
  int defaults = 0;
  for (const v1::KernelSpec& kernel : EmbeddedKernels())
    for (const v1::ParamSpec& param : kernel.params())
      if (param.has_default_value()) {
        ++defaults;
        const auto value = ParseParameter(param, Text(param.default_value()));
        EXPECT_TRUE(value.ok()) << kernel.name() << " " << value.status();
      }
  EXPECT_GT(defaults, 10);
}

TEST(PlanJob, InputsInTheSpecsOrder) {
  const auto plan = Plan({"matmul", "a.npy", "array:B", "--transpose-b", "-o", "c.npy"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->inputs.size(), 2u);
  EXPECT_EQ(plan->inputs[0].name, "a");
  EXPECT_EQ(plan->inputs[0].kind, InputArgument::Kind::kFile);
  EXPECT_EQ(plan->inputs[0].text, "a.npy");
  EXPECT_EQ(plan->inputs[1].name, "b");
  EXPECT_EQ(plan->inputs[1].kind, InputArgument::Kind::kArray);
  EXPECT_EQ(plan->inputs[1].text, "B");
  EXPECT_EQ(plan->options.params.at("transpose_b"), client::ParamValue(true));
  EXPECT_EQ(plan->options.params.count("transpose_a"), 0u);  // the daemon's default applies
  ASSERT_EQ(plan->outputs.size(), 1u);
  EXPECT_EQ(plan->outputs[0].name, "c");
  EXPECT_EQ(plan->outputs[0].kind, OutputArgument::Kind::kNpy);
}

TEST(PlanJob, InputsByName) {
  const auto plan = Plan({"matmul", "b=y.npy", "x.npy"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->inputs[0].text, "x.npy");
  EXPECT_EQ(plan->inputs[1].text, "y.npy");
  // Not every equals sign names an input.
  EXPECT_EQ(Plan({"selu", "alpha=1.npy"})->inputs[0].text, "alpha=1.npy");
}

TEST(PlanJob, ANumberIsAScalar) {
  for (const char* number : {"5", "-2.5", "+1", "1e6", ".5"}) {
    const auto plan = Plan({"vector_add", "x.npy", number});
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->inputs[1].kind, InputArgument::Kind::kScalar) << number;
    EXPECT_EQ(plan->inputs[1].text, number);
  }
  for (const char* file : {"./5", "5.npy", "nan", "inf", "5x", "1-2"})
    EXPECT_EQ(Plan({"vector_add", "x.npy", file})->inputs[1].kind, InputArgument::Kind::kFile) << file;
  EXPECT_EQ(Plan({"vector_add", "b=7", "x.npy"})->inputs[1].text, "7");
}

TEST(TypeScalars, TheTypeIsThatOfTheOtherInput) {
  const TemporaryFolder folder;
  const auto npy = [&folder](const char* descr, std::size_t bytes) {
    std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (1,), }";
    header.resize(117, ' ');
    header += '\n';
    return folder.Write(std::string(descr + 1) + ".npy",
                        std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(bytes, '\0'));
  };
  absl::StatusOr<client::Client> nobody = absl::UnavailableError("no daemon");
  const auto typed = [&](const std::string& file, const std::string& number) {
    auto plan = Plan({"vector_add", file, number});
    const absl::Status status = TypeScalars(plan->kernel, nobody, plan->inputs);
    return status.ok() ? std::string(Name(plan->inputs[1].dtype)) : std::string(status.message());
  };
  EXPECT_EQ(typed(npy("<i4", 4), "5"), "int32");
  EXPECT_EQ(typed(npy("<f4", 4), "5"), "float32");
  EXPECT_EQ(typed(npy("<f8", 8), "-0.5"), "float64");
  EXPECT_EQ(typed("1", "5"), "int64") << "nothing else decides";
  EXPECT_EQ(typed("1", "5.5"), "float64");
  EXPECT_THAT(typed(npy("<i4", 4), "5.5"), HasSubstr("input b: 5.5 is no int32, the type of "));
  EXPECT_THAT(typed(npy("<i4", 4), "3000000000"), HasSubstr("is no int32"));
  InputArgument scalar{"b", InputArgument::Kind::kScalar, "-7", DType::kInt32};
  std::int32_t value = 0;
  std::memcpy(&value, ScalarBuffer(scalar)->data(), sizeof value);
  EXPECT_EQ(value, -7);
}

TEST(PlanJob, PathsAreMadeAbsolute) {
  const auto plan = Plan({"selu", "path:x.npy"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->inputs[0].kind, InputArgument::Kind::kPath);
  EXPECT_EQ(plan->inputs[0].text.front(), '/');
  EXPECT_EQ(Plan({"selu", "path:/data/./x.npy"})->inputs[0].text, "/data/x.npy");
}

TEST(PlanJob, ParametersOfEveryType) {
  const auto plan = Plan({"integrate2d", "--n", "1e4", "--x_min", "-1.5", "--x_max", "2.0", "--y-min", "2e0",
                          "--y-max=2", "--variant", "fast"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->options.params.at("n"), client::ParamValue(std::int64_t{10'000}));
  EXPECT_EQ(plan->options.params.at("x_min"), client::ParamValue(-1.5));
  EXPECT_EQ(plan->options.params.at("x_max"), client::ParamValue(2.0));
  EXPECT_EQ(plan->options.params.at("y_min"), client::ParamValue(2.0));
  EXPECT_EQ(plan->options.params.at("y_max"), client::ParamValue(std::int64_t{2})) << "an integer, as in NumPy";
  EXPECT_EQ(plan->options.params.at("variant"), client::ParamValue(std::string("fast")));
  EXPECT_EQ(Plan({"matmul", "a.npy", "b.npy", "--no-transpose-a"})->options.params.at("transpose_a"),
            client::ParamValue(false));
}

TEST(PlanJob, OptionsOfTheJob) {
  const auto plan =
      Plan({"selu",         "x.npy",   "--device",  "gpu0", "--precision",  "bf16", "--priority", "-5",
            "--time-limit", "90s",     "--timeout", "5m",   "--request-id", "r1",   "--dry-run",  "--deterministic",
            "-o",           "array:Y", "--lease",   "1h"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->options.device, "gpu0");
  EXPECT_EQ(plan->options.precision, v1::PRECISION_BF16);
  EXPECT_EQ(plan->options.priority, -5);
  EXPECT_EQ(plan->options.time_limit, std::chrono::seconds(90));
  EXPECT_EQ(plan->options.deadline, std::chrono::minutes(5));
  EXPECT_EQ(plan->options.request_id, "r1");
  EXPECT_TRUE(plan->dry_run);
  EXPECT_TRUE(plan->options.deterministic);
  EXPECT_FALSE(Plan({"selu", "x.npy"})->options.deterministic);
  EXPECT_EQ(plan->options.keep.at("y").array_name, "Y");
  EXPECT_EQ(plan->options.keep.at("y").lease, std::chrono::hours(1));
}

TEST(PlanJob, OutputsByNameAndInOrder) {
  auto plan = Plan({"integrate2d", "-o", "error=e.npy", "-o", "array:V", "--lease", "1h"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->outputs[0].name, "error");
  EXPECT_EQ(plan->outputs[1].name, "") << "which outputs a call fills is the daemon's to say";
  EXPECT_TRUE(plan->options.keep.empty());
  ASSERT_TRUE(NameOutputs({"value", "error"}, plan->outputs).ok());
  EXPECT_EQ(plan->outputs[1].name, "value");
  AskForOutputs(*plan);
  EXPECT_EQ(plan->options.keep.at("value").array_name, "V");
  EXPECT_EQ(plan->options.keep.at("value").lease, std::chrono::hours(1));
  EXPECT_EQ(Plan({"mandelbrot", "-o", "m.png"})->outputs[0].name, "counts");
  EXPECT_EQ(Plan({"mandelbrot", "-o", "counts=m.png"})->outputs[0].kind, OutputArgument::Kind::kPicture);
}

TEST(PlanJob, OutputsWithoutANameAreAsManyAsTheCallFills) {
  const auto named = [](std::vector<std::string> words, const std::vector<std::string>& filled) {
    words.insert(words.begin(), {"svd", "a.npy"});
    auto plan = Plan(words);
    EXPECT_TRUE(plan.ok()) << plan.status();
    const absl::Status status = NameOutputs(filled, plan->outputs);
    if (!status.ok()) return std::string(status.message());
    std::string text;
    for (const OutputArgument& output : plan->outputs) text += output.name + "=" + output.text + " ";
    return text;
  };
  const std::vector<std::string> all = {"u", "s", "vt"};
  EXPECT_EQ(named({"-o", "a.npy"}, {"s"}), "s=a.npy ");
  EXPECT_EQ(named({"-o", "a.npy", "-o", "b.npy", "-o", "c.npy"}, all), "u=a.npy s=b.npy vt=c.npy ");
  EXPECT_EQ(named({"-o", "a.npy", "-o", "s=b.npy", "-o", "c.npy"}, all), "u=a.npy s=b.npy vt=c.npy ");
  EXPECT_EQ(named({"-o", "a.npy"}, all),
            "-o a.npy: which output? This call gives u, s, vt. Name what you want, as in -o u=a.npy");
  EXPECT_THAT(named({"-o", "a.npy", "-o", "array:B"}, {"s"}), HasSubstr("-o a.npy -o array:B: which output?"));
}

TEST(PlanJob, OutputsThatThereAreNot) {
  EXPECT_THAT(Refusal({"svd", "a.npy", "-o", "z=y.npy"}),
              HasSubstr("-o z=y.npy: no output \"z\"; its outputs: u, s, vt. For a file of that name: -o ./z=y.npy"));
  EXPECT_EQ(Plan({"selu", "x.npy", "-o", "./z=y.npy"})->outputs[0].text, "./z=y.npy");
  for (const std::vector<std::string>& given : std::vector<std::vector<std::string>>{{"-o=y.npy"}, {"-o", "=y.npy"}}) {
    std::vector<std::string> words = {"selu", "x.npy"};
    words.insert(words.end(), given.begin(), given.end());
    EXPECT_THAT(Refusal(words), HasSubstr("-o =y.npy: no output is named before the =; its outputs: y"));
  }
  EXPECT_EQ(Plan({"selu", "x.npy", "-o", "./=y.npy"})->outputs[0].text, "./=y.npy");
  EXPECT_EQ(Plan({"selu", "x.npy", "--output=y.npy"})->outputs[0].text, "y.npy");
  EXPECT_THAT(Refusal({"selu", "x.npy", "-o", "y.npy", "-o", "z.npy"}),
              HasSubstr("-o z.npy is one output too many; its outputs: y"));
  for (const char* place : {"path:/scratch/c.npy", "y=path:/scratch/c.npy"})
    EXPECT_EQ(Plan({"selu", "x.npy", "-o", place})->outputs[0].kind, OutputArgument::Kind::kPath);
  EXPECT_THAT(Refusal({"selu", "x.npy", "-o", "path:c.png"}), HasSubstr("\"c.png\" does not end in .npy"));
}

TEST(PlanJob, RefusalsNameTheThingAndItsValue) {
  EXPECT_THAT(Refusal({"mandlebrot"}), HasSubstr("no kernel \"mandlebrot\". Nearest: mandelbrot"));
  EXPECT_THAT(Refusal({"selu", "x.npy", "--aplha", "2"}), HasSubstr("\"--aplha\". Nearest: --alpha"));
  EXPECT_THAT(Refusal({"selu", "x.npy", "--alpha", "nan"}), HasSubstr("--alpha: \"nan\" is not finite"));
  EXPECT_THAT(Refusal({"selu", "x.npy", "--alpha", "1e999"}), HasSubstr("is not finite"));
  EXPECT_THAT(Refusal({"selu", "x.npy", "--alpha", "two"}), HasSubstr("--alpha: \"two\" is no number"));
  EXPECT_THAT(Refusal({"mandelbrot", "--resolution", "0"}), HasSubstr("--resolution: \"0\" is out of range"));
  EXPECT_THAT(Refusal({"mandelbrot", "--resolution", "12.5"}), HasSubstr("is not a whole number"));
  EXPECT_THAT(Refusal({"integrate2d", "--variant", "quick"}), HasSubstr("\"quick\" is none of naive, shared, fast"));
  EXPECT_THAT(Refusal({"matmul", "a.npy"}), HasSubstr("input b is missing: it takes 2 (a, b), 1 was given"));
  EXPECT_THAT(Refusal({"selu", "x.npy", "y.npy"}), HasSubstr("\"y.npy\" is one input too many"));
  EXPECT_THAT(Refusal({"selu", "x.npy", "-o", "y.txt"}), HasSubstr("\"y.txt\" ends in neither"));
  EXPECT_THAT(Refusal({"selu", "x.npy", "-o", "y=a.npy", "-o", "y=b.npy"}), HasSubstr("has a place already"));
  EXPECT_THAT(Refusal({"matmul", "a.npy", "b.npy", "--transpose-a=perhaps"}, kExitInvalid), HasSubstr("perhaps"));
}

// What a refusal says to write, which must be accepted.
std::string WriteInstead(const std::vector<std::string>& words) {
  const std::string message = Refusal(words);
  const std::size_t write = message.find("; write ");
  if (write == std::string::npos) return message;
  const std::size_t begin = write + std::string("; write ").size();
  return message.substr(begin, message.find('\n', begin) - begin);
}

TEST(PlanJob, WordsOfNumpysLeadToOurs) {
  struct Row {
    std::vector<std::string> given;
    std::string write;
    std::string inputs;  // what goes with it, where it is a call of the same kernel
  };
  const std::vector<Row> rows = {
      {{"norm", "x.npy", "--ord", "3"}, "--ord p --p 3", "x.npy"},
      {{"norm", "x.npy", "--ord=2.5"}, "--ord p --p 2.5", "x.npy"},
      {{"norm", "x.npy", "--axis", "0,1"}, "--axis matrices, for those in the last two axes", ""},
      {{"norm", "x.npy", "--axis", "(0, 1)"}, "--axis matrices, for those in the last two axes", ""},
      {{"norm", "x.npy", "--axis", "None"}, "--axis all", "x.npy"},
      {{"reduce", "x.npy", "--axis", "0,1"}, "hotplate eval 'sum(x, axis=(0,1))' x=X, or mean, max and so on", ""},
      {{"svd", "a.npy", "--full-matrices", "false"}, "--compute thin", "a.npy"},
      {{"svd", "a.npy", "--full_matrices=False"}, "--compute thin", "a.npy"},
      {{"svd", "a.npy", "--no-full-matrices"}, "--compute thin", "a.npy"},
      {{"svd", "a.npy", "--full-matrices", "true"}, "--compute full", "a.npy"},
      {{"svd", "a.npy", "--compute-uv", "0"}, "--compute values", "a.npy"},
      {{"qr", "a.npy", "--mode", "r"}, "-o r=R.npy, without --mode", ""},
      {{"eigh", "a.npy", "--uplo", "L"}, "nothing: eigh reads the lower triangle", ""},
      {{"histogram", "x.npy", "--range", "0,5"}, "--range given --low 0 --high 5", "x.npy"},
      {{"histogram", "x.npy", "--range", "0", "5"}, "--range given --low LOW --high HIGH", ""},
      {{"full", "--shape", "3,3"}, "--rows 3 --n 3", "none"},
      {{"full", "--n", "2,3,4"}, "--batch 2 --rows 3 --n 4", "none"},
      {{"full", "--n", "3", "--fill-value", "1.5"}, "--value 1.5", ""},
      {{"full", "3,4", "1.0"}, "full --rows 3 --n 4 --value 1.0", "all"},
      {{"random", "--size", "3"}, "--n 3", "none"},
      {{"random", "--size", "3,4"}, "--rows 3 --n 4", "none"},
      {{"random", "3", "4"}, "random --rows 3 --n 4", "all"},
      {{"arange", "10"}, "arange --stop 10", "all"},
      {{"arange", "2", "10"}, "arange --start 2 --stop 10", "all"},
      {{"arange", "10", "0", "-2"}, "arange --start 10 --stop 0 --step -2", "all"},
      {{"linspace", "0", "1"}, "linspace --start 0 --stop 1", "all"},
      {{"linspace", "0", "1", "5"}, "linspace --start 0 --stop 1 --num 5", "all"},
      {{"fft", "x.npy", "--axes", "0,1"}, "--axes 2, for the last two axes", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(WriteInstead(row.given), row.write) << row.given[1];
    if (row.inputs.empty()) continue;
    std::vector<std::string> words = SplitAt(row.write, ' ');
    if (row.inputs != "all") words.insert(words.begin(), row.given[0]);
    if (row.inputs != "all" && row.inputs != "none") words.push_back(row.inputs);
    EXPECT_TRUE(Plan(words).ok()) << row.write << ": " << Plan(words).status();
  }
  EXPECT_THAT(WriteInstead({"norm", "x.npy", "--ord", "nuc"}),
              HasSubstr("then hotplate run reduce S.npy --operation sum"));
  EXPECT_THAT(WriteInstead({"norm", "x.npy", "--ord", "-2"}),
              HasSubstr("then hotplate run reduce S.npy --operation min"));
  EXPECT_EQ(WriteInstead({"norm", "x.npy", "--ord", "-3"}),
            "hotplate eval 'sum(abs(x) ** float64(-3))' x=X, and raise it to 1 / -3");
  for (const char* kernel : {"sort", "fft"}) {
    const std::string said = WriteInstead({kernel, "x.npy", "--axis", "0"});
    EXPECT_THAT(said, HasSubstr("hotplate eval 'x.T' x=X -o T.npy"));
    EXPECT_THAT(Refusal({kernel, "x.npy", "--axis", "0"}), Not(HasSubstr("Nearest"))) << "--axes is a number of them";
  }
  EXPECT_EQ(WriteInstead({"sort", "x.npy", "--axis", "-1"}), "nothing: it is so already");
  EXPECT_THAT(Refusal({"selu", "x.npy", "--axis", "0"}), Not(HasSubstr("write")));
}

TEST(PlanJob, NamesEverythingThatIsWrong) {
  const std::string message = Refusal({"integrate2d", "extra.npy", "--n", "x", "--variant", "quick", "-o", "y.txt"});
  for (const char* part : {"--n", "--variant", "extra.npy", "y.txt"}) EXPECT_THAT(message, HasSubstr(part));
}

TEST(PlanJob, UsageErrorsAreNotRefusals) {
  Refusal({}, kExitUsage);
  Refusal({"--alpha", "2", "selu", "x.npy"}, kExitUsage);  // could be the kernel's: the kernel comes first
  Refusal({"selu", "x.npy", "--priority", "1000"}, kExitUsage);
  Refusal({"selu", "x.npy", "--time-limit", "soon"}, kExitUsage);
  Refusal({"selu", "x.npy", "--precision", "f8"}, kExitUsage);
}

TEST(PlanJob, WhatIsGivenTwiceIsRefused) {
  const std::string input = Refusal({"selu", "x=one.npy", "x=two.npy"});
  EXPECT_THAT(input, HasSubstr("x is given twice"));
  EXPECT_THAT(input, HasSubstr("one.npy"));
  EXPECT_THAT(input, HasSubstr("two.npy"));
  EXPECT_THAT(Refusal({"integrate2d", "-o", "value=array:S", "-o", "error=array:S"}), HasSubstr("array:S"));
}

TEST(PlanJob, AnEmptyWordIsNoFile) { EXPECT_THAT(Refusal({"selu", ""}), HasSubstr("input x: \"\" names no file")); }

}  // namespace
}  // namespace hotplate::cli
