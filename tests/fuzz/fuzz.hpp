// What the fuzz targets of loaders share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vectis/base.hpp"

namespace vectis::fuzz {

using Bytes = std::vector<std::byte>;

// One thread, so that a run can be repeated.
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

// The last argument is the folder of the corpus; without one nothing is written.
inline void write_seeds(int count, char** arguments, const std::vector<Bytes>& files) {
  const std::filesystem::path folder = arguments[count - 1];
  if (count < 2 || !std::filesystem::is_directory(folder)) return;
  int number = 0;
  for (const Bytes& file : files) {
    std::ofstream out(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  }
}

template <class T>
T number_at(const Bytes& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Writes the checksum of [begin, end) at `end`; returns the place behind it.
inline std::size_t close_block(Bytes& bytes, std::size_t begin, std::size_t end) {
  const std::uint64_t sum = checksum(std::span(bytes).subspan(begin, end - begin));
  std::memcpy(bytes.data() + end, &sum, sizeof(sum));
  return end + sizeof(sum);
}

// Makes the checksums of the exact index that begins at `begin` right, as far as its blocks can be followed:
// otherwise nothing would be tested but them. Returns where it ends, or 0 when that cannot be told.
inline std::size_t mend_index(Bytes& bytes, std::size_t begin) {
  constexpr std::size_t header_bytes = 52;
  constexpr std::size_t sum_bytes = 8;
  if (begin + header_bytes + sum_bytes > bytes.size()) return 0;
  std::size_t at = close_block(bytes, begin + 12, begin + header_bytes);
  const std::size_t dim = number_at<std::uint32_t>(bytes, begin + 32);
  const std::size_t code_bytes = number_at<std::uint8_t>(bytes, begin + 30) == 4 ? 1 : 2;
  std::uint64_t missing = number_at<std::uint64_t>(bytes, begin + 44);
  if (dim > bytes.size()) return 0;
  while (missing > 0 && at + 12 <= bytes.size()) {
    const std::size_t rows = number_at<std::uint64_t>(bytes, at + 4);
    if (rows > bytes.size()) return 0;
    const bool codes = number_at<std::uint32_t>(bytes, at) == 2;
    const std::size_t body = codes ? 4 + 4 * dim + rows * (8 + 4 + code_bytes * dim) : rows * (8 + 4 * dim);
    if (body > bytes.size() || at + 12 + body + sum_bytes > bytes.size()) return 0;
    at = close_block(bytes, at, at + 12 + body);
    missing -= std::min<std::uint64_t>(missing, rows);
    if (rows == 0) return 0;
  }
  return missing == 0 ? at : 0;
}

// One input: most are mended, some are left as they came. What is refused is refused for a reason that loading may
// give.
template <class Mend, class LoadAndUse>
void try_input(const std::uint8_t* data, std::size_t size, const Mend& mend, const LoadAndUse& load_and_use) {
  const auto given = std::as_bytes(std::span(data, size));
  Bytes bytes(given.begin(), given.end());
  if (hash64(given) % 16 != 0) mend(bytes);
  try {
    MemoryReader reader(bytes);
    load_and_use(reader);
  } catch (const Error& error) {
    const ErrorCode code = error.code();
    expect(code == ErrorCode::corrupt_data || code == ErrorCode::unsupported || code == ErrorCode::backend_creation ||
           code == ErrorCode::unsupported_backend);
  }
}

}  // namespace vectis::fuzz
