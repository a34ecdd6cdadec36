// Both ways with NumPy itself: each reads what the other wrote.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/array/npy.h"
#include "tests/temporary_folder.h"
#include "tests/unit/array/bytes_of.h"

namespace hotplate {
namespace {

constexpr char kScript[] = HOTPLATE_PYTHON " -B " HOTPLATE_SOURCE_DIR "/tests/unit/array/numpy_files.py ";

TEST(NpyNumpyTest, ReadsEveryDtypeOrderAndVersionThatNumpyWrites) {
  const TemporaryFolder folder;
  ASSERT_EQ(std::system((kScript + ("make " + folder.path())).c_str()), 0) << "needs python3-numpy";
  int files = 0, fortran = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".npy") continue;
    ++files;
    if (ReadText(entry.path()).find("'fortran_order': True") != std::string::npos) ++fortran;
    auto opened = NpyFile::Open(entry.path());
    ASSERT_TRUE(std::holds_alternative<NpyFile>(opened)) << entry.path() << std::get<NpyError>(opened).message;
    const NpyFile& file = std::get<NpyFile>(opened);
    // The dtype is part of the name: 012-float32-3x4-C.
    const std::string name = entry.path().stem();
    EXPECT_EQ(name.substr(4, name.find('-', 4) - 4), Name(file.signature().dtype));
    const std::string expected = ReadText(std::filesystem::path(entry.path()).replace_extension(".expected"));
    std::string elements(*ByteSize(file.signature()), '\xee');
    const auto error = file.Read(std::as_writable_bytes(std::span(elements)));
    ASSERT_FALSE(error) << entry.path() << error->message;
    EXPECT_TRUE(elements == expected) << entry.path();
  }
  EXPECT_EQ(files, 2 * (14 * 11 + 6));
  EXPECT_GT(fortran, 14 * 4) << "files in Fortran order are what this is about";
}

TEST(NpyNumpyTest, NumpyReadsEveryDtypeAndRankThatIsWritten) {
  const TemporaryFolder folder;
  int files = 0;
  for (int number = 1; number <= kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (dtype == DType::kBFloat16) continue;  // NumPy has none
    Shape shape;
    for (std::size_t rank = 0; rank <= kMaxRank; ++rank) {
      const Signature signature{dtype, shape};
      std::string elements(*ByteSize(signature), '\0');
      for (std::size_t i = 0; i < elements.size(); ++i) {
        elements[i] = static_cast<char>(dtype == DType::kBool ? i % 2 : i * 37 + 11);
      }
      const std::string name = folder.File(std::string(Name(dtype)) + "-" + std::to_string(rank));
      auto created = AtomicFile::Create(name + ".npy");
      ASSERT_TRUE(std::holds_alternative<AtomicFile>(created)) << std::get<NpyError>(created).message;
      AtomicFile& file = std::get<AtomicFile>(created);
      ASSERT_FALSE(file.Write(BytesOf(NpyHeaderFor(signature))));
      ASSERT_FALSE(file.Write(BytesOf(elements)));
      ASSERT_FALSE(file.Commit());
      WriteText(name + ".expected", elements + "\n" + std::string(Name(dtype)) + "\n" + ToString(shape));
      ++files;
      shape.push_back(rank == 3 ? 1 : 2);
    }
  }
  EXPECT_EQ(files, 14 * 9);
  EXPECT_EQ(std::system((kScript + ("check " + folder.path())).c_str()), 0);
}

}  // namespace
}  // namespace hotplate
