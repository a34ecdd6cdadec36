// The published vectors of SHA-256 (FIPS 180-4), and JSON strings of any bytes.
#include <gtest/gtest.h>

#include "server/journal/json.h"
#include "server/journal/sha256.h"

namespace hotplate::journal {
namespace {

TEST(Sha256Test, PublishedVectors) {
  EXPECT_EQ(Sha256Of("").Hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Of("abc").Hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256Stream stream;
  const std::string piece(1000, 'a');
  for (int i = 0; i < 1000; ++i) stream.Add(std::as_bytes(std::span(piece)));
  EXPECT_EQ(stream.Finish().Hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, HexIsReadBack) {
  const Sha256 sha = Sha256Of("abc");
  EXPECT_EQ(Sha256::FromHex(sha.Hex()), sha);
  EXPECT_FALSE(Sha256::FromHex("ba78"));
  EXPECT_FALSE(Sha256::FromHex(std::string(64, 'g')));
}

TEST(JsonTest, StringsAreEscaped) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(JsonString("µ\xff!"), "\"µ\\ufffd!\"");
  EXPECT_EQ(JsonString("\xc3"), "\"\\ufffd\"");
  EXPECT_EQ(JsonObject().Text("a", "b").Number("n", std::int64_t{-1}).Bool("t", true).Real("r", 0.5).Str(),
            "{\"a\":\"b\",\"n\":-1,\"t\":true,\"r\":0.5}");
}

}  // namespace
}  // namespace hotplate::journal
