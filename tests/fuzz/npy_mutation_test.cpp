// Headers changed at random, always in the same way, wherever the tests run. The search with coverage is libfuzzer/.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/array/npy.h"
#include "tests/fuzz/npy_probe.h"

namespace hotplate {
namespace {

// Pieces that steer a change to where the parser decides something.
constexpr std::string_view kPieces[] = {"'descr': ",
                                        "'shape': ",
                                        "'fortran_order': ",
                                        "True",
                                        "False",
                                        "'<f4'",
                                        "'>f8'",
                                        "'|O'",
                                        "'<V2'",
                                        "'<M8[ns]'",
                                        "(",
                                        ")",
                                        ",",
                                        "{",
                                        "}",
                                        "-1",
                                        "0",
                                        "00",
                                        "18446744073709551616",
                                        "9223372036854775807",
                                        "1152921504606846976",
                                        "L",
                                        "'",
                                        "\"",
                                        "\\",
                                        "[",
                                        "\n",
                                        "None",
                                        "(3,)",
                                        "()",
                                        "\x93NUMPY",
                                        " "};

std::string Seed(std::mt19937_64& random) {
  const Signature signature{static_cast<DType>(1 + random() % kDTypeCount),
                            Shape(random() % (kMaxRank + 1), static_cast<std::int64_t>(random() % 4))};
  std::string file = NpyHeaderFor(signature) + std::string(random() % 64, 'd');
  const std::size_t order = file.find("False,");
  if (random() % 2 == 0 && order != std::string::npos) file.replace(order, 6, "True, ");
  return file + std::string(random() % 4 == 0 ? *ByteSize(signature) % 100'000 : 0, 'e');
}

void Mutate(std::string& file, std::mt19937_64& random) {
  const std::size_t at = file.empty() ? 0 : random() % std::min<std::size_t>(file.size(), 140);
  const std::string_view piece = kPieces[random() % std::size(kPieces)];
  switch (random() % 6) {
    case 0:
      if (!file.empty()) file[at] = static_cast<char>(random());
      break;
    case 1:
      file.erase(at, 1 + random() % 8);
      break;
    case 2:
      file.insert(at, piece);
      break;
    case 3:
      if (at + piece.size() <= file.size()) file.replace(at, piece.size(), piece);
      break;
    case 4:
      file.resize(at);
      break;
    default:
      file.insert(at, file.substr(random() % (file.size() + 1), random() % 40));
      break;
  }
}

TEST(NpyMutationTest, NoHeaderBringsItDown) {
  std::mt19937_64 random(20240607);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string file = Seed(random);
    for (std::size_t changes = random() % 4; changes > 0; --changes) Mutate(file, random);
    (ProbeNpy(std::as_bytes(std::span(file))) ? accepted : refused) += 1;
  }
  // Were all of them refused, or none, nothing would have been tried.
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 5000);
  RecordProperty("accepted", accepted);
}

}  // namespace
}  // namespace hotplate
