// The entry points that libFuzzer calls, for every fuzz target. The last argument is the corpus folder; the program
// first writes the target's seeds there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/base.hpp"

namespace {

using namespace vectis;
using namespace vectis::fuzz;

// Writes the seed files to the corpus folder, the last argument; does nothing without one.
void write_seeds(int count, char** arguments, const std::vector<Bytes>& files) {
  const std::filesystem::path folder = arguments[count - 1];
  if (count < 2 || !std::filesystem::is_directory(folder)) return;
  int number = 0;
  for (const Bytes& file : files) {
    std::ofstream out(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    out << text_of(file);
  }
}

}  // namespace

// Aborts when the reader rejects a seed, or the target does not find all its checksums.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::vector<Bytes> files = target.seeds();
  for (const Bytes& file : files) {
    target.read_and_use(file);
    Bytes fixed = file;
    expect(target.fix_checksums == nullptr || (target.fix_checksums(fixed) && fixed == file));
  }
  write_seeds(*count, *arguments, files);
  return 0;
}

// Runs one input, with corrected checksums in 15 of 16 cases. Aborts when reading throws an error that the reader must
// not throw.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  Bytes file(given.begin(), given.end());
  if (target.fix_checksums != nullptr && hash64(given) % 16 != 0) target.fix_checksums(file);
  try {
    target.read_and_use(file);
  } catch (const Error& error) {
    expect(std::ranges::find(target.rejections, error.code()) != target.rejections.end());
  }
  return 0;
}
