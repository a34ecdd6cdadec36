// The header's parser on texts: what it takes, and what it says when it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "kernels/array/npy.h"
#include "tests/unit/array/bytes_of.h"

namespace hotplate {
namespace {

using ::testing::HasSubstr;

std::string WithDict(const std::string& dict, int major = 1) {
  std::string header = "\x93NUMPY";
  header += static_cast<char>(major);
  header += '\0';
  for (std::size_t i = 0; i < (major == 1 ? 2u : 4u); ++i) header += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return header + dict;
}

NpyHeader Accepted(const std::string& file) {
  const auto parsed = ParseNpyHeader(BytesOf(file));
  if (const auto* error = std::get_if<NpyError>(&parsed)) {
    ADD_FAILURE() << "refused: " << error->message;
    return {};
  }
  return std::get<NpyHeader>(parsed);
}

std::string HeaderRefusal(const std::string& file) {
  const auto parsed = ParseNpyHeader(BytesOf(file));
  if (std::holds_alternative<NpyHeader>(parsed)) return "accepted";
  EXPECT_EQ(std::get<NpyError>(parsed).system_error, 0);
  return std::get<NpyError>(parsed).message;
}

std::string DictOf(const std::string& descr, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n";
}

TEST(NpyHeaderTest, ReadsWhatNumpyWrites) {
  const std::string file = WithDict("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }        \n");
  const NpyHeader header = Accepted(file);
  EXPECT_EQ(header.signature, (Signature{DType::kFloat32, {3, 4}}));
  EXPECT_TRUE(header.fortran_order);
  EXPECT_EQ(header.data_offset, file.size());
}

TEST(NpyHeaderTest, ReadsAllThreeVersions) {
  for (const int major : {1, 2, 3}) {
    const std::string file = WithDict(DictOf("'<i8'", "(7,)"), major);
    const NpyHeader header = Accepted(file);
    EXPECT_EQ(header.signature, (Signature{DType::kInt64, {7}})) << major;
    EXPECT_EQ(header.data_offset, file.size()) << major;
  }
}

TEST(NpyHeaderTest, ReadsEveryWayToWriteTheSame) {
  for (const char* dict : {
           "{'shape': (3, 4), 'fortran_order': False, 'descr': '<f4'}",
           "{\"shape\":(3,4,),\"descr\":\"<f4\",\"fortran_order\":False}",
           "  {  'descr'  :  '<f4' ,  'fortran_order' : False ,\n 'shape' : ( 3 , 4 ) , }  \n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L), }",
       }) {
    EXPECT_EQ(Accepted(WithDict(dict)).signature, (Signature{DType::kFloat32, {3, 4}})) << dict;
  }
}

TEST(NpyHeaderTest, ReadsShapesOfEveryRank) {
  EXPECT_EQ(Accepted(WithDict(DictOf("'<f8'", "()"))).signature.shape, Shape{});
  EXPECT_EQ(Accepted(WithDict(DictOf("'<f8'", "(0,)"))).signature.shape, Shape{0});
  EXPECT_EQ(Accepted(WithDict(DictOf("'<f8'", "(1, 2, 3, 4, 5, 6, 7, 8)"))).signature.shape,
            (Shape{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(NpyHeaderTest, OneByteHasNoOrder) {
  for (const char* descr : {"'|u1'", "'<u1'", "'>u1'"}) {
    EXPECT_EQ(Accepted(WithDict(DictOf(descr, "(2,)"))).signature.dtype, DType::kUInt8) << descr;
  }
}

TEST(NpyHeaderTest, WhatItWritesItReadsForEveryDtypeAndRank) {
  for (int number = 1; number <= kDTypeCount; ++number) {
    Shape shape;
    for (std::size_t rank = 0; rank <= kMaxRank; ++rank) {
      const Signature signature{static_cast<DType>(number), shape};
      const std::string written = NpyHeaderFor(signature);
      const NpyHeader header = Accepted(written);
      EXPECT_EQ(header.signature, signature) << ToString(signature);
      EXPECT_FALSE(header.fortran_order);
      EXPECT_EQ(header.data_offset, written.size());
      EXPECT_EQ(written.size() % 64, 0u);
      EXPECT_EQ(written.back(), '\n');
      shape.push_back(static_cast<std::int64_t>(rank) + 2);
    }
  }
}

struct RefusalCase {
  std::string name, file;
  std::vector<std::string> says;

  friend void PrintTo(const RefusalCase& one, std::ostream* out) { *out << one.name; }
};

class NpyHeaderRefusalTest : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(NpyHeaderRefusalTest, SaysWhatWasFound) {
  const std::string refusal = HeaderRefusal(GetParam().file);
  for (const std::string& part : GetParam().says) EXPECT_THAT(refusal, HasSubstr(part));
}

std::vector<RefusalCase> RefusalCases() {
  const auto descr = [](const std::string& text) { return WithDict(DictOf("'" + text + "'", "(2,)")); };
  const auto shape = [](const std::string& text) { return WithDict(DictOf("'<f4'", text)); };
  const std::string good = WithDict(DictOf("'<f4'", "(2,)"));
  std::string absurd_length = "\x93NUMPY\x02";
  absurd_length += std::string("\0\xff\xff\xff\xff{", 6);
  std::string version = good;
  version[6] = '\x09';
  return {
      {"Empty", "", {"empty"}},
      {"Text", "hello world, this is a long text", {"not an .npy file", "\"hello wo\""}},
      {"OneByte", "h", {"not an .npy file", "\"h\""}},
      {"Npz", std::string("PK\x03\x04....", 8), {"not an .npy file", ".npz"}},
      {"MagicOnly", "\x93NUMPY", {"truncated", "6 bytes"}},
      {"CutInTheLength", good.substr(0, 9), {"truncated", "9 bytes"}},
      {"CutInTheDict", good.substr(0, 20), {"truncated", "20 bytes", std::to_string(good.size())}},
      {"Version", version, {"version 9.0", "1.0, 2.0 and 3.0"}},
      {"AbsurdHeaderLength", absurd_length, {"4294967295 bytes long", "65536"}},
      {"ObjectDtype", descr("|O"), {"\"|O\"", "objects"}},
      {"BigEndian", descr(">f4"), {"\">f4\"", "big-endian", "astype('<f4')"}},
      {"Unicode", descr("<U7"), {"\"<U7\"", "text"}},
      {"Bytes", descr("|S7"), {"\"|S7\"", "text"}},
      {"Datetime", descr("<M8[ns]"), {"\"<M8[ns]\"", "dates"}},
      {"Timedelta", descr("<m8[s]"), {"\"<m8[s]\"", "dates"}},
      {"LongDouble", descr("<f16"), {"\"<f16\"", "not supported"}},
      {"Void", descr("|V2"), {"\"|V2\"", "not supported"}},
      {"NoOrder", descr("|f4"), {"\"|f4\""}},
      {"NoType", descr(""), {"\"\""}},
      {"Structured",
       WithDict(DictOf("[('a', '<f4'), ('b', '<i4')]", "(2,)")),
       {"structured", "\"[('a', '<f4'), ('b', '<i4')]\":"}},
      {"TooManyElements", shape("(1152921504606846976,)"), {"float32 [1152921504606846976]", "more than"}},
      {"ProductOverflows", shape("(4294967296, 4294967296, 4294967296)"), {"4294967296, 4294967296", "more than"}},
      {"SizeBeyond64Bits", shape("(99999999999999999999,)"), {"99999999999999999999"}},
      {"NegativeSize", shape("(3, -4)"), {"negative", "-4"}},
      {"NineDimensions", shape("(1,1,1,1,1,1,1,1,1)"), {"more than 8 dimensions"}},
      {"ShapeIsNoTuple", shape("(3)"), {"not a tuple"}},
      {"ShapeIsAList", shape("[3]"), {"tuple of sizes", "[3]"}},
      {"ShapeOfFloats", shape("(3.5,)"), {"\",\" or \")\""}},
      {"ShapeOfCommas", shape("(,)"), {"a size in shape"}},
      {"ShapeWithoutCommas", shape("(3 4)"), {"\",\" or \")\""}},
      {"OpenShape", WithDict("{'descr': '<f4', 'shape': (3, "), {"its end"}},
      {"NoDict", WithDict("hello"), {"a Python dict", "hello"}},
      {"EmptyDict", WithDict("{}"), {"no key \"descr\""}},
      {"NoOrderKey", WithDict("{'descr': '<f4', 'shape': (3,)}"), {"no key \"fortran_order\""}},
      {"NoShapeKey", WithDict("{'descr': '<f4', 'fortran_order': False}"), {"no key \"shape\""}},
      {"UnknownKey", WithDict("{'descr': '<f4', 'colour': 3}"), {"\"colour\""}},
      {"KeyTwice", WithDict("{'descr': '<f4', 'descr': '<f8'}"), {"\"descr\" twice"}},
      {"ShapeTwice", WithDict("{'shape': (3,), 'shape': (3,)}"), {"\"shape\" twice"}},
      {"OrderTwice", WithDict("{'fortran_order': True, 'fortran_order': True}"), {"\"fortran_order\" twice"}},
      {"OrderIsANumber", WithDict("{'fortran_order': 1}"), {"True or False"}},
      {"DescrIsANumber", WithDict("{'descr': 4}"), {"element type in quotes"}},
      {"EscapeInAText", WithDict("{'descr': '\\x3cf4'}"), {"element type in quotes"}},
      {"OpenText", WithDict("{'descr': '<f4"), {"element type in quotes"}},
      {"NoColon", WithDict("{'descr' '<f4'}"), {"\":\""}},
      {"TextBehindTheDict", WithDict(DictOf("'<f4'", "(2,)") + "import os"), {"nothing after the dict", "import os"}},
      {"ZeroBehindTheDict", WithDict(DictOf("'<f4'", "(2,)") + std::string(1, '\0')), {"nothing after the dict"}},
      {"Expression", shape("(3*4,)"), {"\",\" or \")\"", "*4"}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, NpyHeaderRefusalTest, ::testing::ValuesIn(RefusalCases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace hotplate
