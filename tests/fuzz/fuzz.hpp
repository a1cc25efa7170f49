// Shared by the fuzz targets: what a target defines for main.cpp, and helpers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vectis/base.hpp"

namespace vectis::fuzz {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

// The reader of one format, of bytes or of text.
struct Target {
  // Returns small valid files, with which the corpus begins. They cover every version of the format that the reader
  // accepts: whoever adds a version adds its seeds.
  std::vector<Bytes> (*seeds)();
  // Corrects the checksums of a file as far as its blocks can be parsed, so that the fuzzer reaches the checks behind
  // them. Returns whether all blocks could be parsed. Null for a format without checksums.
  bool (*fix_checksums)(Bytes& file);
  // Reads the file and uses what was read, which must work like what was never saved. Throws the error with which the
  // reader rejects the file; uses it in a noexcept function, so that another error of the same code is a finding.
  void (*read_and_use)(BytesView file);
  // The codes of these errors.
  std::vector<ErrorCode> rejections;
};

// Each target defines it.
extern const Target target;

// Single-threaded, so that a run is deterministic.
inline Runtime& runtime() {
  static Runtime made([] {
    RuntimeOptions options;
    options.settings["cache_path"] = "off";
    options.executor = std::make_shared<SimulatedExecutor>(1);
    return options;
  }());
  return made;
}

inline void expect(bool holds) {
  if (!holds) std::abort();
}

inline Bytes bytes_of(std::string_view text) {
  const BytesView bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline std::string_view text_of(BytesView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// What object.save() writes.
template <class Saved>
Bytes saved(const Saved& object) {
  MemoryWriter writer;
  object.save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

template <class T>
T value_at(const Bytes& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Writes the checksum of [begin, end) at `at`; returns the offset after it.
inline std::size_t write_checksum(Bytes& bytes, std::size_t begin, std::size_t end, std::size_t at) {
  const std::uint64_t sum = checksum(std::span(bytes).subspan(begin, end - begin));
  std::memcpy(bytes.data() + at, &sum, sizeof(sum));
  return at + sizeof(sum);
}

}  // namespace vectis::fuzz
