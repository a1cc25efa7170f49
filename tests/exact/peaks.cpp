#include "tests/exact/peaks.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vectis/base/cpu.hpp"
#include "vectis/base/pages.hpp"
#include "vectis/base/time.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

namespace {

constexpr std::size_t read_bytes = std::size_t{512} << 20U;
constexpr int rounds = 5;

double seconds_since(std::uint64_t start) {
  return static_cast<double>(vectis::monotonic_nanoseconds() - start) * 1e-9;
}

std::uint64_t sum_plain(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] std::uint64_t sum_avx512(const std::uint64_t* words, std::size_t count) {
  __m512i sums[8] = {};
  for (std::size_t i = 0; i + 64 <= count; i += 64) {
    for (std::size_t j = 0; j < 8; ++j) {
      sums[j] = _mm512_add_epi64(sums[j], _mm512_loadu_si512(words + i + j * 8));
    }
  }
  __m512i all = sums[0];
  for (std::size_t j = 1; j < 8; ++j) all = _mm512_add_epi64(all, sums[j]);
  alignas(64) std::uint64_t lanes[8];
  _mm512_store_si512(lanes, all);
  return sum_plain(lanes, 8);
}

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Four independent sums of products of two pairs of tiles, as a scan has them.
[[gnu::target("amx-tile,amx-int8")]] void multiply_tiles(std::size_t times) {
  static const TileConfiguration configuration;  // static: compilers do not see that all of it is read
  _tile_loadconfig(&configuration);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::size_t i = 0; i < times; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
}
#endif

std::uint64_t sum_of(const std::uint64_t* words, std::size_t count) {
#if defined(__x86_64__)
  if (vectis::cpu_info().avx512) return sum_avx512(words, count);
#endif
  return sum_plain(words, count);
}

}  // namespace

double read_bandwidth(vectis::Executor& executor) {
  static const vectis::Pages pages(read_bytes);
  constexpr std::size_t count = read_bytes / sizeof(std::uint64_t);
  std::fill_n(pages.as<std::uint64_t>(), count, std::uint64_t{1});
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<std::uint64_t> sum = 0;
    const std::uint64_t start = vectis::monotonic_nanoseconds();
    executor.parallel_for(count, std::size_t{1} << 17U, [&](std::size_t begin, std::size_t end) {
      sum += sum_of(pages.as<std::uint64_t>() + begin, end - begin);
    });
    const double seconds = seconds_since(start);
    if (sum != count) return 0;
    best = std::max(best, static_cast<double>(read_bytes) * 1e-9 / seconds);
  }
  return best;
}

double amx_int8_peak() {
  double best = 0;
#if defined(__x86_64__)
  if (!vectis::cpu_info().amx_int8) return 0;
  constexpr std::size_t times = 500'000;
  constexpr double operations = 4.0 * 16 * 16 * 64 * 2;  // of one pass of the loop
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t start = vectis::monotonic_nanoseconds();
    multiply_tiles(times);
    best = std::max(best, operations * static_cast<double>(times) * 1e-9 / seconds_since(start));
  }
#endif
  return best;
}

}  // namespace bench
