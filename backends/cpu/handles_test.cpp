#include "backends/cpu/handles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace vectis::cpu {
namespace {

// A host that runs ranges of `grain` one after another, and notices exceptions that reach it.
struct SerialHost {
  SerialHost() {
    table.size = sizeof(table);
    table.state = this;
    table.thread_count = [](void*) { return std::uint32_t{4}; };
    table.parallel_for = [](void* state, std::uint64_t count, std::uint64_t grain,
                            void (*body)(void*, std::uint64_t, std::uint64_t), void* argument) {
      for (std::uint64_t begin = 0; begin < count; begin += grain) {
        try {
          body(argument, begin, std::min(begin + grain, count));
        } catch (...) {
          ++static_cast<SerialHost*>(state)->caught;
        }
      }
    };
  }
  VectisHost table{};
  int caught = 0;
};

// Exceptions stay on the backend's side of the C boundary.
TEST(Threads, TheFirstExceptionOfALoopIsRethrownBehindTheHost) {
  SerialHost host;
  const Threads threads(&host.table);
  std::vector<std::uint64_t> begun;
  try {
    threads.parallel_for(10, 3, [&](std::uint64_t begin, std::uint64_t) {
      begun.push_back(begin);
      if (begin >= 3) throw std::runtime_error(std::to_string(begin));
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3");
  }
  EXPECT_EQ(begun, (std::vector<std::uint64_t>{0, 3, 6, 9}));
  EXPECT_EQ(host.caught, 0);
}

}  // namespace
}  // namespace vectis::cpu
