#include "base/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78U;  // Castagnoli, bits reversed

using CrcTable = std::array<std::uint32_t, 256>;

// Slicing-by-8: table k advances a byte past k further zero bytes, so eight bytes take eight independent look-ups.
constexpr std::array<CrcTable, 8> make_crc_tables() {
  std::array<CrcTable, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xffU];
    }
  }
  return tables;
}

constexpr std::array<CrcTable, 8> crc_tables = make_crc_tables();

std::uint64_t load_word(const std::byte* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

#if defined(__x86_64__)

bool has_crc_instruction() noexcept {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

[[gnu::target("sse4.2")]] std::uint32_t crc32c_instruction(std::span<const std::byte> bytes,
                                                           std::uint32_t previous) noexcept {
  std::uint64_t crc = ~previous;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) crc = _mm_crc32_u64(crc, load_word(bytes.data()));
  auto last = static_cast<std::uint32_t>(crc);
  for (const std::byte byte : bytes) last = _mm_crc32_u8(last, std::to_integer<std::uint8_t>(byte));
  return ~last;
}

#elif defined(__ARM_FEATURE_CRC32)

bool has_crc_instruction() noexcept { return true; }

std::uint32_t crc32c_instruction(std::span<const std::byte> bytes, std::uint32_t previous) noexcept {
  std::uint32_t crc = ~previous;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) crc = __crc32cd(crc, load_word(bytes.data()));
  for (const std::byte byte : bytes) crc = __crc32cb(crc, std::to_integer<std::uint8_t>(byte));
  return ~crc;
}

#else

bool has_crc_instruction() noexcept { return false; }

std::uint32_t crc32c_instruction(std::span<const std::byte> bytes, std::uint32_t previous) noexcept {
  return crc32c_portable(bytes, previous);
}

#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) noexcept {
  return has_crc_instruction() ? crc32c_instruction(bytes, previous) : crc32c_portable(bytes, previous);
}

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t previous) noexcept {
  std::uint32_t crc = ~previous;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    const std::uint64_t word = load_word(bytes.data()) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= crc_tables[7 - k][(word >> (8 * k)) & 0xffU];
  }
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ crc_tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  }
  return ~crc;
}

}  // namespace vectis::inline v0_1::detail
