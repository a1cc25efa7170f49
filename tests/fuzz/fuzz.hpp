// Shared by the fuzz targets of the loaders: the functions that a target defines for main.cpp, and checksum repair.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "vectis/base.hpp"

namespace vectis::fuzz {

using Bytes = std::vector<std::byte>;

// Single-threaded, so that a run is deterministic.
inline Runtime& runtime() {
  static Runtime made([] {
    RuntimeOptions options;
    options.executor = std::make_shared<SimulatedExecutor>(1);
    return options;
  }());
  return made;
}

inline void expect(bool holds) {
  if (!holds) std::abort();
}

// Each target defines the following. Returns small valid files, with which the corpus begins.
std::vector<Bytes> seeds();
// Corrects the checksums of a file, so that the fuzzer reaches the checks behind them.
void fix_checksums(Bytes& bytes);
// Loads the file and uses what was loaded. Throws the error of a loader that rejects the file.
void load_and_use(ByteReader& reader);

template <class T>
T value_at(const Bytes& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Writes the checksum of [begin, end) at `end`; returns the offset after it.
inline std::size_t close_block(Bytes& bytes, std::size_t begin, std::size_t end) {
  const std::uint64_t sum = checksum(std::span(bytes).subspan(begin, end - begin));
  std::memcpy(bytes.data() + end, &sum, sizeof(sum));
  return end + sizeof(sum);
}

// Corrects the checksums of the exact index at `begin` as far as its blocks can be parsed, so that the fuzzer reaches
// the checks behind the checksums. Returns the offset of the index's end, or 0 when its blocks cannot be parsed.
inline std::size_t fix_index_checksums(Bytes& bytes, std::size_t begin) {
  constexpr std::size_t header_bytes = 52;
  constexpr std::size_t sum_bytes = 8;
  if (begin + header_bytes + sum_bytes > bytes.size()) return 0;
  std::size_t at = close_block(bytes, begin + 12, begin + header_bytes);
  const std::size_t dim = value_at<std::uint32_t>(bytes, begin + 32);
  const std::size_t code_bytes = value_at<std::uint8_t>(bytes, begin + 30) == 4 ? 1 : 2;
  std::uint64_t missing = value_at<std::uint64_t>(bytes, begin + 44);
  if (dim > bytes.size()) return 0;
  while (missing > 0 && at + 12 <= bytes.size()) {
    const std::size_t rows = value_at<std::uint64_t>(bytes, at + 4);
    if (rows > bytes.size()) return 0;
    const bool codes = value_at<std::uint32_t>(bytes, at) == 2;
    const std::size_t body = codes ? 4 + 4 * dim + rows * (8 + 4 + code_bytes * dim) : rows * (8 + 4 * dim);
    if (body > bytes.size() || at + 12 + body + sum_bytes > bytes.size()) return 0;
    at = close_block(bytes, at, at + 12 + body);
    missing -= std::min<std::uint64_t>(missing, rows);
    if (rows == 0) return 0;
  }
  return missing == 0 ? at : 0;
}

}  // namespace vectis::fuzz
