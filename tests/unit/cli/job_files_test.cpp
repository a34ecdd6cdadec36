#include "client/cli/jobs/job_files.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;

class JobFilesTest : public testing::Test {
 protected:
  std::string WriteNpyFile(const std::string& name, const Signature& signature, const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return folder_.Write(
        name, NpyHeaderFor(signature) + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  TemporaryFolder folder_;
};

TEST_F(JobFilesTest, HeadersFirstElementsLater) {
  const std::string path = WriteNpyFile("x.npy", {DType::kFloat32, {2, 2}}, {1, 2, 3, 4});
  auto inputs = JobInputs::Open({{"x", InputArgument::Kind::kFile, path}, {"y", InputArgument::Kind::kArray, "Y"}});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  auto view = std::get<client::ArrayView>(inputs->Inputs().at("x"));
  EXPECT_EQ(view.signature.shape, (Shape{2, 2}));
  EXPECT_EQ(view.bytes.size(), 16u);  // what Check wants to see; not yet read
  ASSERT_TRUE(inputs->Load().ok());
  view = std::get<client::ArrayView>(inputs->Inputs().at("x"));
  ASSERT_EQ(view.bytes.size(), 16u);
  EXPECT_EQ(reinterpret_cast<const float*>(view.bytes.data())[3], 4);
  EXPECT_EQ(std::get<client::ArrayRef>(inputs->Inputs().at("y")).id_or_name, "Y");
}

TEST_F(JobFilesTest, EveryBadFileIsNamed) {
  const std::string text = folder_.Write("text.npy", "no array at all");
  const std::string truncated = WriteNpyFile("short.npy", {DType::kFloat32, {1000}}, {1});
  const auto inputs = JobInputs::Open({{"a", InputArgument::Kind::kFile, text},
                                       {"b", InputArgument::Kind::kFile, truncated},
                                       {"c", InputArgument::Kind::kFile, folder_.File("missing.npy")}});
  ASSERT_FALSE(inputs.ok());
  const std::string message(inputs.status().message());
  for (const std::string& path : {text, truncated, folder_.File("missing.npy")}) EXPECT_THAT(message, HasSubstr(path));
  EXPECT_THAT(message, HasSubstr("nothing was sent"));
}

TEST_F(JobFilesTest, AFileLargerThanMemoryIsReadInPieces) {
  constexpr std::int64_t kElements = std::int64_t{1} << 41;  // more than machines have
  const std::string huge = WriteNpyFile("huge.npy", {DType::kInt8, {kElements}}, {});
  std::error_code error;
  std::filesystem::resize_file(huge, std::filesystem::file_size(huge) + kElements, error);
  if (error) GTEST_SKIP() << "no file of 2 TiB here: " << error.message();
  auto inputs = JobInputs::Open({{"a", InputArgument::Kind::kFile, huge}});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_TRUE(inputs->Load().ok());
  const auto source = std::get<client::ArraySource>(inputs->Inputs().at("a"));
  EXPECT_EQ(source.signature, (Signature{DType::kInt8, {kElements}}));
  std::byte piece[3];
  EXPECT_TRUE(source.read(kElements - 5, piece).ok());
}

TEST_F(JobFilesTest, PiecesMakeTheFileOrTheSummary) {
  const std::string path = folder_.File("y.npy");
  const std::vector<double> values = {1, 2, 6};
  const auto bytes = std::as_bytes(std::span(values));
  auto outputs = JobOutputs::Open({{"y", OutputArgument::Kind::kNpy, path}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const Signature signature{DType::kFloat64, {3}};
  for (const char* output : {"y", "z"}) {  // z has no file
    EXPECT_FALSE(outputs->Taken(output));
    ASSERT_TRUE(outputs->Take(output, signature, 0, bytes.first(11)).ok());
    ASSERT_TRUE(outputs->Take(output, signature, 11, bytes.subspan(11)).ok());
    EXPECT_TRUE(outputs->Taken(output));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(outputs->Write("y", signature).ok());
  auto opened = NpyFile::Open(path);
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened));
  std::vector<double> back(3);
  EXPECT_FALSE(std::get<NpyFile>(opened).Read(std::as_writable_bytes(std::span(back))));
  EXPECT_EQ(back, values);
  EXPECT_EQ(outputs->SummaryOf("y"), nullptr);
  ASSERT_NE(outputs->SummaryOf("z"), nullptr);
  EXPECT_EQ(outputs->SummaryOf("z")->Text(), SummaryText(signature, bytes));
}

TEST_F(JobFilesTest, AFileThatChangesWhileItIsSentIsRefused) {
  const std::string path = WriteNpyFile("x.npy", {DType::kFloat32, {2}}, {1, 2});
  auto opened = NpyFile::Open(path);
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened));
  const client::ArraySource source = SourceOf(std::get<NpyFile>(std::move(opened)), path);
  std::byte bytes[8];
  EXPECT_TRUE(source.read(0, bytes).ok());
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(5));
  EXPECT_TRUE(source.read(0, std::span(bytes).first(4)).ok());
  const absl::Status last = source.read(4, std::span(bytes).first(4));
  EXPECT_THAT(std::string(last.message()), HasSubstr(path + ": the file was written to while it was read"));
}

TEST_F(JobFilesTest, AFileThatMayNotBeOpenedIsNoInvalidArgument) {
  for (const int error : {EACCES, EPERM, EROFS})
    EXPECT_EQ(FileError("y.npy", SystemError("cannot write it", error)).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(FileError("y.npy", SystemError("cannot write it", ENOENT)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(JobFilesTest, AnOutputThatIsNotWrittenLeavesTheOldOne) {
  const std::string path = folder_.Write("y.npy", "old");
  {
    const auto outputs = JobOutputs::Open({{"y", OutputArgument::Kind::kNpy, path}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
  }
  EXPECT_EQ(ReadText(path), "old");
  EXPECT_EQ(folder_.Names().size(), 1u);
}

TEST_F(JobFilesTest, AnOutputIsReplacedWhole) {
  const std::string path = folder_.Write("y.npy", "old");
  auto outputs = JobOutputs::Open({{"y", OutputArgument::Kind::kNpy, path}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<float> values = {1, 2};
  ASSERT_TRUE(outputs->Write("y", {DType::kFloat32, {2}}, std::as_bytes(std::span(values))).ok());
  const auto opened = NpyFile::Open(path);
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened));
  EXPECT_EQ(std::get<NpyFile>(opened).signature(), (Signature{DType::kFloat32, {2}}));
  EXPECT_EQ(folder_.Names().size(), 1u);
}

TEST_F(JobFilesTest, APlaceThatCannotBeWrittenIsRefusedBeforeTheJob) {
  const auto outputs = JobOutputs::Open({{"y", OutputArgument::Kind::kNpy, folder_.File("no/such/folder/y.npy")}});
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("no/such/folder"));
  EXPECT_FALSE(JobOutputs::Open({{"y", OutputArgument::Kind::kNpy, folder_.path()}}).ok());
}

TEST_F(JobFilesTest, TwoOutputsIntoOneFileAreRefused) {
  const std::string folder = folder_.path();
  std::filesystem::create_directory(folder + "/sub");
  std::filesystem::create_symlink("s.npy", folder + "/dangling.npy");
  std::filesystem::create_symlink("sub/../dangling.npy", folder + "/chain.npy");
  std::filesystem::create_directory_symlink(folder, folder + "/sub/up");
  const auto open = [&](const std::string& first, const std::string& second) {
    return JobOutputs::Open({{"value", OutputArgument::Kind::kNpy, folder + "/" + first},
                             {"error", OutputArgument::Kind::kNpy, folder + "/" + second}})
        .status();
  };
  for (const char* other :
       {"s.npy", "./s.npy", "sub/../s.npy", "dangling.npy", "chain.npy", "sub/up/s.npy", "sub/up/sub/up/chain.npy"}) {
    const absl::Status status = open("s.npy", other);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << other;
    EXPECT_THAT(std::string(status.message()), HasSubstr("outputs value and error")) << other;
    EXPECT_THAT(std::string(status.message()), HasSubstr(other)) << other;
  }
  EXPECT_TRUE(open("s.npy", "sub/s.npy").ok());
  EXPECT_TRUE(open("s.npy", "t.npy").ok());
}

TEST_F(JobFilesTest, PicturesAreCheckedByWhatWillComeOut) {
  auto outputs = JobOutputs::Open({{"y", OutputArgument::Kind::kPicture, folder_.File("y.png")}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_TRUE(outputs->HasPicture());
  EXPECT_TRUE(outputs->CheckPictures({{"y", {DType::kInt32, {2, 2}}}}).ok());
  EXPECT_THAT(std::string(outputs->CheckPictures({{"y", {DType::kFloat32, {7}}}}).message()), HasSubstr("float32 [7]"));
  const std::vector<float> values(7);
  EXPECT_TRUE(absl::IsInvalidArgument(outputs->Take("y", {DType::kFloat32, {7}}, 0, std::as_bytes(std::span(values)))))
      << "of a job that was not checked";
  EXPECT_EQ(folder_.Names().size(), 1u) << "the elements of a picture have no name";
}

}  // namespace
}  // namespace hotplate::cli
