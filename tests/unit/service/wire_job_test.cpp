#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "kernels/base/status.h"
#include "server/wire/job.h"
#include "tests/temporary_folder.h"

namespace hotplate::wire {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

class WireJobTest : public testing::Test {
 protected:
  WireJobTest() {
    spec_.set_kernel("selu");
    bounds_.max_array_bytes = 1 << 20;
    bounds_.path_roots = CanonicalRoots({folder_.path()});
  }

  v1::JobInput& AddInline(const std::string& name, std::vector<float> values) {
    v1::JobInput& input = *spec_.add_inputs();
    input.set_name(name);
    input.mutable_inline_()->mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
    input.mutable_inline_()->mutable_signature()->add_shape(static_cast<std::int64_t>(values.size()));
    input.mutable_inline_()->set_data(values.data(), values.size() * sizeof(float));
    return input;
  }
  absl::StatusOr<core::JobRequest> Convert(SignatureInputs signatures = SignatureInputs::kRefused) {
    return FromProto(spec_, bounds_, signatures, arrays_);
  }
  // The violation of `field`, with `code`.
  void ExpectRefused(const std::string& field, const std::string& part,
                     absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    const absl::Status status = Convert().status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_THAT(Violations(status), Contains(AllOf(Field(&FieldViolation::field, field),
                                                   Field(&FieldViolation::description, HasSubstr(part)))))
        << status.ToString();
  }

  TemporaryFolder folder_;
  core::Clock clock_;
  core::ArrayStore arrays_{{.total_bytes = 1 << 22, .array_bytes = 1 << 20}, clock_};
  JobBounds bounds_;
  v1::JobSpec spec_;
};

TEST_F(WireJobTest, EverythingArrives) {
  AddInline("x", {1, 2, 3});
  v1::JobInput& held = *spec_.add_inputs();
  held.set_name("held");
  held.set_array_id("a1");
  (*spec_.mutable_params())["alpha"].set_float_value(1.5);
  (*spec_.mutable_params())["n"].set_int_value(-3);
  (*spec_.mutable_params())["yes"].set_bool_value(true);
  (*spec_.mutable_params())["variant"].set_string_value("fast");
  v1::JobOutput& output = *spec_.add_outputs();
  output.set_name("y");
  output.set_keep(true);
  output.set_array_name("kept");
  output.mutable_lease()->set_seconds(60);
  spec_.set_device("cpu0");
  spec_.set_precision(v1::PRECISION_TF32);
  spec_.set_deterministic(true);
  spec_.set_priority(-7);
  spec_.mutable_time_limit()->set_nanos(500);
  spec_.set_request_id("r1");
  spec_.set_disconnect_policy(v1::DISCONNECT_POLICY_DETACH);

  const auto request = Convert();
  ASSERT_TRUE(request.ok()) << request.status().ToString();
  EXPECT_EQ(request->kernel, "selu");
  EXPECT_EQ(std::get<double>(request->params.at("alpha")), 1.5);
  EXPECT_EQ(std::get<std::int64_t>(request->params.at("n")), -3);
  EXPECT_EQ(std::get<bool>(request->params.at("yes")), true);
  EXPECT_EQ(std::get<std::string>(request->params.at("variant")), "fast");
  ASSERT_EQ(request->inputs.size(), 2u);
  EXPECT_EQ(request->inputs[0].signature, (Signature{DType::kFloat32, {3}}));
  const auto& data = std::get<std::shared_ptr<const HostBuffer>>(request->inputs[0].source);
  EXPECT_EQ(reinterpret_cast<const float*>(data->data())[2], 3.0f);
  EXPECT_EQ(std::get<std::string>(request->inputs[1].source), "a1");
  ASSERT_EQ(request->outputs.size(), 1u);
  EXPECT_TRUE(request->outputs[0].keep);
  EXPECT_EQ(request->outputs[0].array_name, "kept");
  EXPECT_EQ(request->outputs[0].lease, std::chrono::seconds(60));
  EXPECT_EQ(request->device, "cpu0");
  EXPECT_EQ(request->precision, HOTPLATE_PRECISION_TF32);
  EXPECT_TRUE(request->deterministic);
  EXPECT_EQ(request->priority, -7);
  EXPECT_EQ(request->time_limit, core::nanoseconds(500));
  EXPECT_EQ(request->request_id, "r1");
  EXPECT_EQ(request->on_disconnect, core::DisconnectPolicy::kDetach);
}

TEST_F(WireJobTest, InlineDataAreCounted) {
  AddInline("x", std::vector<float>(1000));
  {
    const auto request = Convert();
    ASSERT_TRUE(request.ok());
    EXPECT_EQ(arrays_.bytes_held(), 4000u);
  }
  EXPECT_EQ(arrays_.bytes_held(), 0u);
}

TEST_F(WireJobTest, TheHashTellsPayloadsApartAndIgnoresTheOrderOfMaps) {
  spec_.set_request_id("r1");
  for (int i = 0; i < 20; ++i) (*spec_.mutable_params())["p" + std::to_string(i)].set_int_value(i);
  const std::uint64_t hash = Convert()->payload_hash;
  v1::JobSpec other;
  other.set_kernel("selu");
  other.set_request_id("r1");
  for (int i = 19; i >= 0; --i) (*other.mutable_params())["p" + std::to_string(i)].set_int_value(i);
  spec_ = other;
  EXPECT_EQ(Convert()->payload_hash, hash);
  (*spec_.mutable_params())["p3"].set_int_value(4);
  EXPECT_NE(Convert()->payload_hash, hash);
}

TEST_F(WireJobTest, NanPassesHereAndIsTheSpecsToRefuse) {
  (*spec_.mutable_params())["alpha"].set_float_value(std::numeric_limits<double>::quiet_NaN());
  const auto request = Convert();
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(std::isnan(std::get<double>(request->params.at("alpha"))));
}

TEST_F(WireJobTest, AllThatIsWrongIsNamedAtOnce) {
  spec_.set_kernel("");
  spec_.set_precision(static_cast<v1::Precision>(9));
  (*spec_.mutable_params())["alpha"];
  spec_.add_inputs()->set_name("x");
  std::vector<std::string> fields;
  for (const FieldViolation& violation : Violations(Convert().status())) fields.push_back(violation.field);
  EXPECT_THAT(fields, testing::UnorderedElementsAre("kernel", "precision", "params.alpha", "inputs.x"));
}

TEST_F(WireJobTest, SizesFromOutside) {
  v1::Signature& signature = *AddInline("x", {1, 2}).mutable_inline_()->mutable_signature();
  signature.set_shape(0, -1);
  ExpectRefused("inputs.x", "negative");
  signature.set_shape(0, std::numeric_limits<std::int64_t>::max());
  ExpectRefused("inputs.x", "overflows");
  signature.set_shape(0, 1 << 30);
  ExpectRefused("inputs.x", "max-array-bytes is 1048576", absl::StatusCode::kResourceExhausted);
  for (int i = 0; i < 8; ++i) signature.add_shape(1);
  ExpectRefused("inputs.x", "9 dimensions");
  signature.clear_shape();
  signature.set_dtype(static_cast<v1::DType>(77));
  ExpectRefused("inputs.x", "77");
}

TEST_F(WireJobTest, LengthsAndCounts) {
  spec_.set_kernel(std::string(1000, 'k'));
  ExpectRefused("kernel", "128");
  spec_.set_kernel("selu");
  for (int i = 0; i < 65; ++i) spec_.add_inputs()->set_name("x" + std::to_string(i));
  ExpectRefused("inputs", "65");
  spec_.clear_inputs();
  for (int i = 0; i < 257; ++i) (*spec_.mutable_params())["p" + std::to_string(i)].set_int_value(i);
  ExpectRefused("params", "257");
}

TEST_F(WireJobTest, NumbersOutOfTheirRange) {
  spec_.set_precision(static_cast<v1::Precision>(9));
  ExpectRefused("precision", "9");
  spec_.clear_precision();
  spec_.set_disconnect_policy(static_cast<v1::DisconnectPolicy>(5));
  ExpectRefused("disconnect_policy", "5");
  spec_.clear_disconnect_policy();
  spec_.mutable_time_limit()->set_seconds(-1);
  ExpectRefused("time_limit", "-1 s");
  spec_.mutable_time_limit()->set_seconds(std::numeric_limits<std::int64_t>::max());
  ExpectRefused("time_limit", "10 years");
  spec_.mutable_time_limit()->set_seconds(0);
  ExpectRefused("time_limit", "positive");
}

TEST_F(WireJobTest, SignaturesAloneAreForCheck) {
  v1::JobInput& input = *spec_.add_inputs();
  input.set_name("x");
  input.mutable_signature()->set_dtype(v1::DTYPE_INT8);
  ExpectRefused("inputs.x", "Check");
  const auto request = Convert(SignatureInputs::kAllowed);
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(request->inputs[0].source));
}

class PathInputTest : public WireJobTest {
 protected:
  std::string WriteNpy(const std::string& name, std::size_t elements) {
    const Signature signature{DType::kFloat32, {static_cast<std::int64_t>(elements)}};
    return folder_.Write(name, NpyHeaderFor(signature) + std::string(elements * 4, 'f'));
  }
  void GivePath(const std::string& path) {
    spec_.clear_inputs();
    v1::JobInput& input = *spec_.add_inputs();
    input.set_name("x");
    input.set_path(path);
  }
};

TEST_F(PathInputTest, OpensWhatIsBelowARoot) {
  GivePath(WriteNpy("x.npy", 7));
  EXPECT_TRUE(NeedsFiles(spec_));
  const auto request = Convert();
  ASSERT_TRUE(request.ok()) << request.status().ToString();
  EXPECT_EQ(request->inputs[0].signature, (Signature{DType::kFloat32, {7}}));
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const NpyFile>>(request->inputs[0].source));
}

TEST_F(PathInputTest, NothingOutsideTheRootsWhicheverWayItIsSaid) {
  const std::string file = WriteNpy("x.npy", 7);
  std::filesystem::create_directory(folder_.path() + "/inside");
  bounds_.path_roots = CanonicalRoots({folder_.path() + "/inside"});
  std::filesystem::create_symlink(file, folder_.path() + "/inside/link.npy");
  std::filesystem::create_directory(folder_.path() + "/inside2");
  const std::string neighbour = folder_.path() + "/inside2/y.npy";
  std::filesystem::copy_file(file, neighbour);
  for (const std::string& path :
       {file, folder_.path() + "/inside/../x.npy", folder_.path() + "/inside/link.npy", neighbour}) {
    GivePath(path);
    ExpectRefused("inputs.x", "outside", absl::StatusCode::kPermissionDenied);
  }
}

// A guest learns neither where a link leads to, nor what there is elsewhere.
TEST_F(PathInputTest, AGuestReadsBelowItsOwnRootAlone) {
  const std::string file = WriteNpy("x.npy", 7), root = bounds_.path_roots.front();
  std::filesystem::create_directory(root + "/inside");
  std::filesystem::copy_file(file, root + "/inside/y.npy");
  std::filesystem::create_symlink(file, root + "/inside/link.npy");
  bounds_.guest = "anna";
  bounds_.path_roots = bounds_.named_roots = {root + "/inside"};
  GivePath(root + "/inside/y.npy");
  EXPECT_TRUE(Convert().ok());
  for (const std::string& path : {root + "/x.npy", root + "/absent.npy", root + "/inside/../x.npy",
                                  root + "/inside/../absent.npy", root + "/inside/link.npy", root + "/inside"}) {
    GivePath(path);
    ExpectRefused("inputs.x",
                  "\"" + path + "\": token \"anna\" may read .npy files below " + root +
                      "/inside alone, by paths that begin so, without \"..\"; else send the array",
                  absl::StatusCode::kPermissionDenied);
  }
  bounds_.path_roots.clear();
  GivePath(root + "/inside/y.npy");
  ExpectRefused("inputs.x", "token \"anna\" may read no files on the node; send the array",
                absl::StatusCode::kPermissionDenied);
}

// It is the same answer, whatever the link leads to.
TEST_F(PathInputTest, AGuestIsNotToldWhatALinkLeadsTo) {
  const std::string file = WriteNpy("x.npy", 7), root = bounds_.path_roots.front(), own = root + "/inside";
  std::filesystem::create_directories(own + "/deep/er");
  std::filesystem::create_directory(root + "/closed");
  std::filesystem::copy_file(file, own + "/y.npy");
  bounds_.guest = "anna";
  bounds_.path_roots = bounds_.named_roots = {own};
  int number = 0;
  for (const std::string& target :
       {file, root + "/absent.npy", root + "/absent/x.npy", root, root + "/x.npy/z", std::string("/dev/null"),
        std::string("../x.npy"), std::string("../absent.npy"), std::string("deep/../../absent.npy"),
        own + "/../absent.npy", root + "/closed/x.npy", root + "/inside2"}) {
    const std::string link = own + "/link" + std::to_string(++number);
    std::filesystem::create_symlink(target, link);
    for (const std::string& path : {link, link + "/under"}) {
      GivePath(path);
      ExpectRefused("inputs.x",
                    "\"" + path + "\": token \"anna\" may read .npy files below " + own +
                        " alone, by paths that begin so, without \"..\"; else send the array",
                    absl::StatusCode::kPermissionDenied);
    }
  }
  // Links that stay below the root are followed.
  std::filesystem::create_symlink(own + "/y.npy", own + "/absolute.npy");
  std::filesystem::create_symlink("../../y.npy", own + "/deep/er/relative.npy");
  std::filesystem::create_directory_symlink("deep/er", own + "/folder");
  for (const char* const path : {"/absolute.npy", "/deep/er/relative.npy", "/folder/relative.npy", "//./y.npy"}) {
    GivePath(own + path);
    EXPECT_TRUE(Convert().ok()) << path << " " << Convert().status();
  }
  std::filesystem::create_symlink("absent.npy", own + "/dangling.npy");
  std::filesystem::create_symlink("loop.npy", own + "/loop.npy");
  for (const auto& [path, code] : {std::pair("/dangling.npy", absl::StatusCode::kNotFound),
                                   {"/absent.npy", absl::StatusCode::kNotFound},
                                   {"/y.npy/z", absl::StatusCode::kNotFound},
                                   {"/loop.npy", absl::StatusCode::kInvalidArgument},
                                   {"/deep", absl::StatusCode::kInvalidArgument}}) {
    GivePath(own + path);
    EXPECT_EQ(Convert().status().code(), code) << path;
  }
}

TEST_F(WireJobTest, AGuestWritesNoFiles) {
  v1::JobOutput& output = *spec_.add_outputs();
  output.set_name("y");
  output.set_path(folder_.path() + "/y.npy");
  EXPECT_TRUE(Convert().ok());
  bounds_.guest = "anna";
  ExpectRefused("outputs.y",
                "token \"anna\" may not write files on the node: take the output in the answer, or keep it as an array",
                absl::StatusCode::kPermissionDenied);
  output.set_path("relative.npy");
  ExpectRefused("outputs.y", "may not write files", absl::StatusCode::kPermissionDenied);
}

TEST_F(PathInputTest, WhatIsNotAnArrayFile) {
  GivePath("relative.npy");
  ExpectRefused("inputs.x", "absolute");
  GivePath(folder_.path() + "/absent.npy");
  ExpectRefused("inputs.x.path", "No such file", absl::StatusCode::kNotFound);
  GivePath(folder_.path());
  ExpectRefused("inputs.x", "outside", absl::StatusCode::kPermissionDenied);
  std::filesystem::create_directory(folder_.path() + "/d");
  GivePath(folder_.path() + "/d");
  ExpectRefused("inputs.x", "not a regular file");
  GivePath(folder_.Write("text.npy", "hello"));
  ExpectRefused("inputs.x", "text.npy");
}

TEST_F(PathInputTest, AnErrorNamesTheFileHoweverDeepItLies) {
  GivePath(folder_.path() + "/" + std::string(150, 'd') + "/" + std::string(150, 'e') + "/measurement-17.npy");
  ExpectRefused("inputs.x.path", "measurement-17.npy", absl::StatusCode::kNotFound);
}

TEST_F(PathInputTest, APipeDoesNotHoldUpTheDaemon) {
  const std::string pipe = folder_.path() + "/pipe.npy";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  GivePath(pipe);
  ExpectRefused("inputs.x", "not a regular file");
}

TEST_F(PathInputTest, LargerThanTheLimit) {
  GivePath(WriteNpy("x.npy", (1 << 18) + 1));
  ExpectRefused("inputs.x", "max-array-bytes", absl::StatusCode::kResourceExhausted);
}

// Each has a descriptor until its job ends, and connections need some, too.
TEST_F(PathInputTest, NoMoreAreOpenThanMayBe) {
  bounds_.open_inputs = std::make_shared<OpenInputs>(2);
  GivePath(folder_.path() + "/absent.npy");
  for (int i = 0; i < 3; ++i) ExpectRefused("inputs.x.path", "No such file", absl::StatusCode::kNotFound);
  GivePath(WriteNpy("x.npy", 7));
  auto first = Convert();
  const auto second = Convert();
  ASSERT_TRUE(first.ok() && second.ok());
  const absl::Status full = Convert().status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()),
              AllOf(HasSubstr("have 2 inputs and outputs by path"), HasSubstr("try again later")));
  EXPECT_THAT(Violations(full), testing::IsEmpty()) << "nothing is wrong with the request";
  first = absl::UnknownError("");
  EXPECT_TRUE(Convert().ok());
}

TEST_F(PathInputTest, WithoutADescriptorAnotherAttemptMayDo) {
  GivePath(WriteNpy("x.npy", 7));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(STDIN_FILENO);
  close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status status = Convert().status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("Too many open files"), HasSubstr("try again later")));
  EXPECT_THAT(Violations(status), testing::IsEmpty());
}

TEST(CanonicalRootsTest, ResolvesLinksAndDropsWhatIsNotThere) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/real");
  std::filesystem::create_symlink("real", folder.path() + "/link");
  const std::string real = std::filesystem::canonical(folder.path() + "/real").string();
  std::vector<std::string> missing;
  EXPECT_THAT(CanonicalRoots({folder.path() + "/link", folder.path() + "/absent", real}, &missing), ElementsAre(real));
  EXPECT_THAT(missing, ElementsAre(folder.path() + "/absent"));
}

}  // namespace
}  // namespace hotplate::wire
