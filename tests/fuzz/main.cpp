// The entry points that libFuzzer calls, for every fuzz target of a loader. The last argument is the corpus folder; the
// program first writes the target's seeds there.
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
    out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  write_seeds(*count, *arguments, seeds());
  return 0;
}

// Runs one input, with corrected checksums in 15 of 16 cases. Aborts when loading throws an error code that a loader
// must not throw.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  Bytes bytes(given.begin(), given.end());
  if (hash64(given) % 16 != 0) fix_checksums(bytes);
  try {
    MemoryReader reader(bytes);
    load_and_use(reader);
  } catch (const Error& error) {
    const ErrorCode code = error.code();
    expect(code == ErrorCode::corrupt_data || code == ErrorCode::unsupported || code == ErrorCode::backend_creation ||
           code == ErrorCode::unsupported_backend);
  }
  return 0;
}
