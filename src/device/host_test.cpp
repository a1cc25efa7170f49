#include "device/host.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_runtime.hpp"

namespace vectis::inline v0_1::detail {
namespace {

// An executor without memory for the tasks of a loop.
class ExhaustedExecutor final : public Executor {
 public:
  void post(Task) override { throw std::bad_alloc(); }
  void post_after(Duration, Task) override {}
  [[nodiscard]] TimePoint now() const override { return {}; }
  std::uint64_t random() override { return 0; }
  void parallel_for(std::size_t, std::size_t, const Range&) override { throw std::bad_alloc(); }
  [[nodiscard]] std::size_t concurrency() const override { return 8; }
  void run_until(const std::function<bool()>&) override {}
};

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(HostServices, ALoopRunsInTheCallingThreadWhenTheExecutorFails) {
  test::FakeOs os;
  RuntimeOptions options = test::options_on(os);
  options.executor = std::make_shared<ExhaustedExecutor>();
  Runtime runtime(std::move(options));
  const HostServices services(runtime, "cuda", {});
  const VectisHost& host = *services.table();
  Ranges ranges;
  const auto body = [](void* argument, std::uint64_t begin, std::uint64_t end) {
    static_cast<Ranges*>(argument)->emplace_back(begin, end);
  };
  host.parallel_for(host.state, 1000, 10, body, &ranges);
  EXPECT_EQ(ranges, (Ranges{{0, 1000}}));
  host.parallel_for(host.state, 0, 10, body, &ranges);
  EXPECT_EQ(ranges.size(), 1U);
}

TEST(HostServices, AFailedSearchOfABackendIsAStatus) {
  test::FakeOs os;
  Runtime runtime(test::options_on(os));
  std::array<char, 64> text{};
  VectisMessage message{sizeof(VectisMessage), text.data(), text.size(), VECTIS_REASON_NONE};
  const auto find = [&](HostServices::Finder finder) {
    const HostServices services(runtime, "cuda", std::move(finder));
    const VectisBackend* table = nullptr;
    VectisBackendState* state = nullptr;
    const VectisHost& host = *services.table();
    return host.find_backend(host.state, "cpu", &table, &state, &message);
  };
  EXPECT_EQ(find([](auto&&...) -> bool { throw std::bad_alloc(); }), VECTIS_ALLOCATION);
  EXPECT_EQ(std::string(text.data()), "the host is out of memory for the search of a backend");
  EXPECT_EQ(find([](auto&&...) -> bool { throw std::runtime_error("no registry"); }), VECTIS_DRIVER_FAILURE);
  EXPECT_EQ(std::string(text.data()), "no registry");
  EXPECT_EQ(find({}), VECTIS_UNSUPPORTED);
}

}  // namespace
}  // namespace vectis::inline v0_1::detail
