// The seed of random tests: VECTIS_TEST_SEED, or 1. Every test program prints it.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace vectis::test {

inline std::uint64_t seed() {
  const char* text = std::getenv("VECTIS_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

}  // namespace vectis::test
