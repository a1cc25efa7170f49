// scan_bounds by int8 matrix units: the test driver computes mma.sync and AMD's mfma lane by lane, so that conformance
// finds a fragment that lies elsewhere than the kernel believes (tests/mutants/fixes/kernel.toml has such errors).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cuda/steering.hpp"
#include "tests/operations/scan_extremes.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/conformance.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::test {
namespace {

struct Architecture {
  std::string name;
  std::string backend;
  std::uint64_t number;  // the test driver's
  bool has_units;        // that multiply int8
};

// Of each backend, by the oldest architecture with the instruction, which has its smallest shape, by newer ones, and by
// one without it.
std::vector<Architecture> architectures() {
  std::vector<Architecture> all;
#if defined(VECTIS_HAS_CUDA)
  for (const std::uint64_t number : {70U, 75U, 80U, 90U})
    all.push_back({fmt::format("sm_{}", number), "cuda", number, number >= 75});
#endif
#if defined(VECTIS_HAS_HIP)
  all.push_back({"gfx908", "hip", 908, true});
  all.push_back({"gfx90a", "hip", 90, true});
  all.push_back({"gfx942", "hip", 942, true});
  all.push_back({"gfx1100", "hip", 1100, false});
#endif
  return all;
}

class Int8Mma : public testing::TestWithParam<Architecture> {
 protected:
  Int8Mma() {
    driver.set_order(seed() | 1U);
    driver.set("architecture", GetParam().number);
    options.settings["cache_path"] = "off";
  }
  ~Int8Mma() override {
    driver.set("architecture", 90);
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
  }

  // Whether the kernel for tight int8 operands of this size has a body for matrix units.
  static bool by_matrix_units(const DeviceContext& context, const DeviceInfo& device, std::uint64_t queries,
                              std::uint64_t rows, std::uint64_t columns) {
    const Operation& scan = *find_operation("scan_bounds");
    const DeviceMemory memory(context, 4);  // plans never look into it
    const std::vector<View> views = {
        View(memory, DType::int8, rows, columns), View(memory, DType::int8, queries, columns),
        View(memory, DType::float32, rows, 4),    View(memory, DType::float32, queries, 4),
        View(memory, DType::int32, queries, 1),   View(memory, DType::float32, queries, 2),
        View(memory, DType::int32, queries, 1),   View(memory, DType::int32, 1, 1)};
    const std::vector<ParameterValue> parameters = {std::int64_t{0}, 0.0, 0.0, std::int64_t{0}};
    const LaunchPlan plan = scan.plan({&scan, views, parameters}, device);
    return plan.launches.front().source().overrides.contains(GetParam().backend == "hip" ? Dialect::hip
                                                                                         : Dialect::cuda);
  }

  const VectisTestDriver& driver = driver_of(GetParam().backend);
  RuntimeOptions options;
};

TEST_P(Int8Mma, FindsWhatTheReferenceFinds) {
  Runtime runtime(options);
  const Device device = runtime.service<DeviceRegistry>().find(GetParam().backend).value();
  if (device.info().dialects.empty()) GTEST_SKIP() << "this plug-in carries no kernels for the architecture";
  const DeviceContext context(device);
  EXPECT_EQ(device.info().capabilities.int8_matrix, GetParam().has_units);
  // Queries, rows, columns: both tiles, some that are full and some that are not, depths that end inside of a block,
  // and rows that are whole pairs of words or are not.
  constexpr std::array<std::array<std::uint64_t, 3>, 7> sizes = {
      {{128, 512, 32}, {70, 700, 128}, {140, 389, 4}, {64, 640, 76}, {41, 523, 100}, {61, 650, 40}, {131, 515, 72}}};
  for (const auto& [queries, rows, columns] : sizes) {
    EXPECT_EQ(by_matrix_units(context, device.info(), queries, rows, columns), GetParam().has_units);
    for (const char* data : {"uniform", "positive"}) {
      conformance::Options one;
      one.seed = seed();
      one.operations = "scan_bounds";
      one.case_name = fmt::format("int8:{}x{}x{}x200/tight/{}/7,1,3", queries, rows, columns, data);
      const conformance::Report report = conformance::test(runtime, device, one);
      for (const conformance::Failure& failure : report.failures)
        ADD_FAILURE() << failure.case_name << ": " << failure.what;
      EXPECT_EQ(report.cases(), 1U);
      EXPECT_TRUE(report.passed());
    }
  }
}

// Of any size, in tight and other views, with elements of -128, terms of any magnitude, masks, and lists of candidates
// that are full. VECTIS_TEST_SCANS is the number of sizes.
TEST_P(Int8Mma, FindsEveryRowWithinTheLimit) {
  Runtime runtime(options);
  const Device device = runtime.service<DeviceRegistry>().find(GetParam().backend).value();
  if (device.info().dialects.empty()) GTEST_SKIP() << "this plug-in carries no kernels for the architecture";
  DeviceContext context(device);
  Random random(seed());
  const char* const wanted = std::getenv("VECTIS_TEST_SCANS");
  for (int round = 0; round < (wanted == nullptr ? 6 : std::atoi(wanted)); ++round) {
    const std::uint64_t aligned = std::uint64_t{4} << random.below(2);
    const ScanSize size{random.below(4) == 0 ? 31 + random.below(4) : 33 + random.below(110), 385 + random.below(300),
                        aligned * (1 + random.below(random.below(3) == 0 ? 20 : 5)), 1 + random.below(500), aligned};
    SCOPED_TRACE(fmt::format("round {}: {}x{}x{}, aligned {}", round, size.queries, size.rows, size.columns, aligned));
    ScanExtremes(random, DType::int8, size).run_on(context);
    if (HasFailure()) return;
  }
}

// Small batches of queries, and rows that are not whole words, have the portable kernel.
TEST_P(Int8Mma, LeavesTheRestToThePortableKernel) {
  Runtime runtime(options);
  const Device device = runtime.service<DeviceRegistry>().find(GetParam().backend).value();
  const DeviceContext context(device);
  EXPECT_FALSE(by_matrix_units(context, device.info(), 3, 700, 128));
  EXPECT_FALSE(by_matrix_units(context, device.info(), 70, 700, 127));
}

INSTANTIATE_TEST_SUITE_P(Architectures, Int8Mma, testing::ValuesIn(architectures()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace vectis::test
