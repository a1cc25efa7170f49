// Concurrent operations on a device whose calls fail at random.
#include "tests/store/fixture.hpp"
#include "tests/support/store_mixed_work.hpp"

namespace vectis::test {
namespace {

TEST(StoreDevicesConcurrent, MixedWorkOnAFailingDevice) {
  LoggedRuntime runtime;
  runtime.registry().configure("failing", "reset", "");
  MixedWork work(*runtime, {.index = "gpu", .device = "failing"}, [](const Error& error) {
    return std::string_view(error.what()).find("failing") != std::string_view::npos;
  });
  work.run(40, [&](Random& random) {
    if (random.below(16) != 0) return;
    runtime.registry().configure("failing", "fail", "any " + std::to_string(1 + random.below(60)) + " driver_failure");
  });
  runtime.registry().configure("failing", "reset", "");
  work.expect_all();
}

}  // namespace
}  // namespace vectis::test
