#include "vectis/base/bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/expect_error.hpp"
#include "vectis/base/random.hpp"

namespace vectis {
namespace {

TEST(Bytes, NumbersRoundTrip) {
  MemoryWriter writer;
  writer.put(true);
  writer.put(std::int8_t{-5});
  writer.put(std::uint16_t{65535});
  writer.put(std::numeric_limits<std::int32_t>::min());
  writer.put(std::numeric_limits<std::uint64_t>::max());
  writer.put(1.5F);
  writer.put(-0.0);
  EXPECT_EQ(writer.bytes().size(), 1U + 1 + 2 + 4 + 8 + 4 + 8);

  MemoryReader reader(writer.bytes());
  EXPECT_EQ(reader.get<bool>(), true);
  EXPECT_EQ(reader.get<std::int8_t>(), -5);
  EXPECT_EQ(reader.get<std::uint16_t>(), 65535);
  EXPECT_EQ(reader.get<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reader.get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.get<float>(), 1.5F);
  EXPECT_TRUE(std::signbit(reader.get<double>()));
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(Bytes, NumbersAreLittleEndian) {
  MemoryWriter writer;
  writer.put(std::uint32_t{0x01020304});
  EXPECT_THAT(writer.bytes(), testing::ElementsAre(std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}));
}

TEST(Bytes, EmptyStringsAndStringsWithZerosRoundTrip) {
  const std::string odd("a\0b\xff", 4);
  MemoryWriter writer;
  writer.put_string(odd);
  writer.put_string("");
  MemoryReader reader(writer.bytes());
  EXPECT_EQ(reader.get_string(4), odd);
  EXPECT_EQ(reader.get_string(0), "");
}

TEST(Bytes, AStringAboveTheLimitIsCorruptBeforeAllocation) {
  MemoryWriter writer;
  writer.put(std::numeric_limits<std::uint64_t>::max());
  MemoryReader reader(writer.bytes());
  EXPECT_ERROR(reader.get_string(100), ErrorCode::corrupt_data, "[get_string]", "18446744073709551615", "at most 100");
}

TEST(Bytes, AStringThatNoMemoryHoldsIsAnAllocationError) {
  MemoryWriter writer;
  writer.put(std::numeric_limits<std::uint64_t>::max() - 1);
  MemoryReader reader(writer.bytes());
  EXPECT_ERROR(reader.get_string(SIZE_MAX), ErrorCode::allocation, "[get_string]", "18446744073709551614 bytes");
}

TEST(Bytes, ATruncatedStringIsCorrupt) {
  MemoryWriter writer;
  writer.put_string("hello");
  MemoryReader reader(writer.bytes().first(10));
  EXPECT_ERROR(reader.get_string(100), ErrorCode::corrupt_data, "3 bytes too early");
}

TEST(Bytes, ABoolThatIsNeitherZeroNorOneIsCorrupt) {
  MemoryWriter writer;
  writer.put(std::uint8_t{2});
  MemoryReader reader(writer.bytes());
  EXPECT_ERROR(reader.get<bool>(), ErrorCode::corrupt_data, "value 2");
}

TEST(Bytes, AFailedReadConsumesNothing) {
  MemoryWriter writer;
  writer.put(std::uint16_t{7});
  MemoryReader reader(writer.bytes());
  EXPECT_ERROR(reader.get<std::uint32_t>(), ErrorCode::corrupt_data, "2 bytes too early", "2 of 4");
  EXPECT_EQ(reader.get<std::uint16_t>(), 7);
  reader.read({});  // nothing is always there
}

TEST(Bytes, RandomSequencesRoundTrip) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    MemoryWriter writer;
    const auto count = random.below(100);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t value = random.next();
      if (value % 2 == 0) {
        writer.put(value);
      } else {
        writer.put_string(std::string(value % 37, static_cast<char>(value)));
      }
    }
    Random again(seed);
    MemoryReader reader(writer.bytes());
    ASSERT_EQ(again.below(100), count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t value = again.next();
      if (value % 2 == 0) {
        ASSERT_EQ(reader.get<std::uint64_t>(), value) << "seed " << seed;
      } else {
        ASSERT_EQ(reader.get_string(36), std::string(value % 37, static_cast<char>(value))) << "seed " << seed;
      }
    }
    ASSERT_EQ(reader.remaining(), 0U);
  }
}

// The published values of FNV-1a with 64 bits.
TEST(Bytes, Hash64IsFnv1a) {
  const auto of = [](std::string_view text) { return hash64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(of("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(of("foobar"), 0x85944171f73967e8ULL);
  const std::string_view text = "foobar";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(hash64(bytes.subspan(3), hash64(bytes.first(3))), of("foobar"));
}

// The check value of CRC-32C (Castagnoli); crc32c_test.cpp has more.
TEST(Bytes, ChecksumIsCrc32c) {
  const std::string_view text = "123456789";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(checksum({}), 0U);
  EXPECT_EQ(checksum(bytes), 0xe3069283U);
  EXPECT_EQ(checksum(bytes.subspan(3), checksum(bytes.first(3))), checksum(bytes));
}

}  // namespace
}  // namespace vectis
