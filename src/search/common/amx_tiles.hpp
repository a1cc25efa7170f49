// The configuration of AMX tiles.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#define VECTIS_AMX [[gnu::target("amx-tile,amx-int8,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl")]]

namespace vectis::inline v0_1::detail {

inline constexpr std::size_t amx_tile_bytes = 1024;

// The operand of the instruction that configures tiles.
struct alignas(64) AmxTileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t column_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

// Configures eight tiles of 16 rows by 64 bytes for the calling thread, and releases them. Precondition, not checked:
// the CPU has AMX.
class AmxTiles {
 public:
  VECTIS_AMX AmxTiles() {
    AmxTileConfiguration configuration;
    std::fill_n(configuration.column_bytes, 8, std::uint16_t{64});
    std::fill_n(configuration.rows, 8, std::uint8_t{16});
    _tile_loadconfig(&configuration);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler does not know what tile loads read
  }
  VECTIS_AMX ~AmxTiles() { _tile_release(); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
};

}  // namespace vectis::inline v0_1::detail

#endif
