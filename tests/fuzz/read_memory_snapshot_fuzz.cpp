// Fuzzes read_memory_snapshot, and writes every snapshot it accepts.
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/memory.hpp"

namespace vectis::fuzz {

namespace {

std::string json_of(const MemorySnapshot& snapshot) {
  std::ostringstream out;
  write_json(out, snapshot);
  return out.str();
}

MemorySnapshot read(std::string_view text) {
  std::istringstream in{std::string(text)};
  return read_memory_snapshot(in);
}

void use(const MemorySnapshot& snapshot) noexcept {
  const std::string json = json_of(snapshot);
  expect(json_of(read(json)) == json);
  std::ostringstream page;
  write_html(page, snapshot);
  expect(page.str().ends_with("</html>\n"));
}

void read_and_use(BytesView file) { use(read(text_of(file))); }

std::vector<Bytes> seeds() {
  MemorySnapshot snapshot;
  std::vector<Bytes> files{bytes_of(json_of(snapshot))};
  snapshot.device = "opencl:0 (\xC3\xA9 \"name\")";
  snapshot.cause = "out of memory\n</script>";
  snapshot.time = TimePoint{Duration(5'000)};
  snapshot.stats.fragmentation = 0.25;
  snapshot.stats.tags = {{"weights", 1, 900, 1000}, {"", 1, 10, 20}};
  snapshot.blocks = {{.segment = 0,
                      .offset = 0,
                      .bytes = 1024,
                      .state = BlockState::live,
                      .requested_bytes = 900,
                      .precision = Precision::bf16,
                      .tag = "weights",
                      .age = Duration(7)},
                     {.segment = 0, .offset = 1024, .bytes = 512, .state = BlockState::cached, .tag = {}},
                     {.segment = 1, .offset = 256, .bytes = 64, .state = BlockState::free, .tag = {}}};
  snapshot.timeline = {{TimePoint{Duration(10)}, 2048, 100}, {TimePoint{Duration(5'000)}, 4096, 1600}};
  files.push_back(bytes_of(json_of(snapshot)));
  return files;
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data}};

}  // namespace vectis::fuzz
