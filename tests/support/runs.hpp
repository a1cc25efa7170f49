// How much a random test does.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/support/sanitizer.hpp"

namespace vectis::test {

// Returns VECTIS_TEST_RUNS, or `usual`; ThreadSanitizer, under which a run takes ten times as long, does a tenth.
inline std::uint64_t runs_wanted(std::uint64_t usual) {
  const char* const text = std::getenv("VECTIS_TEST_RUNS");
  if (text != nullptr) return std::strtoull(text, nullptr, 10);
  return thread_sanitizer ? (usual + 9) / 10 : usual;
}

}  // namespace vectis::test
