// CRC32C (Castagnoli polynomial, RFC 3720 B.4): with the CPU's instruction where it has one, else by table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vectis::inline v0_1::detail {

// The CRC32C of `bytes`, appended to the bytes whose CRC32C is `previous`: crc32c(b, crc32c(a)) is that of a and b.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0) noexcept;

// The same by table alone, for CPUs without the instruction and for tests of the other.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t previous = 0) noexcept;

}  // namespace vectis::inline v0_1::detail
