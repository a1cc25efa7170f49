// CRC32C (Castagnoli polynomial, RFC 3720 B.4): with the CPU's instruction where it has one, else by table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vectis::inline v0_1::detail {

// Returns the CRC32C of `bytes`, by the CPU's instruction if the CPU has one and the build uses it (on x86-64 always),
// else by table. `previous` must be 0 or the result for the bytes before: crc32c(b, crc32c(a)) is the CRC32C of a
// followed by b. Does not throw.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0) noexcept;

// Returns the CRC32C of `bytes` by table alone, equal to crc32c(): for CPUs without the instruction and for tests.
// `previous` must be 0 or the result for the bytes before. Does not throw.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t previous = 0) noexcept;

}  // namespace vectis::inline v0_1::detail
