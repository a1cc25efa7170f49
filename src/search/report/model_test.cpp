#include "search/report/model.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "vectis/kernel/operation.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;

DeviceInfo device_named(std::string name, std::uint32_t units) {
  DeviceInfo info;
  info.name = std::move(name);
  info.compute_units = units;
  return info;
}

DeviceProfile measured_profile() {
  DeviceProfile profile;
  profile.memory_bytes_per_second = 1e11;
  profile.operations_per_second.fp32 = 2e12;
  profile.to_device = {1e-5, 2e10};
  profile.to_host = {1e-5, 1e10};
  return profile;
}

constexpr detail::CallCosts costs{2e-6, 4e-6, 8e-6, false};

// The kernels of devices without and with matrix units.
const std::vector<KernelSource>& kernels_of_devices() {
  static const std::vector<KernelSource> all = [] {
    std::vector<KernelSource> kernels = builtin_kernels();
    for (const DeviceInfo& device : prebuilt_devices(Dialect::cuda)) {
      if (!device.capabilities.int8_matrix) continue;
      for (KernelSource& source : builtin_kernels(device)) kernels.push_back(std::move(source));
    }
    return kernels;
  }();
  return all;
}

// The kernel of exact search with this tile, int8 elements or others, as built for devices of usual limits.
KernelSource scan_kernel(const std::string& label) {
  const std::vector<KernelSource>& kernels = kernels_of_devices();
  const auto found = std::ranges::find(kernels, label, detail::label_of);
  EXPECT_NE(found, kernels.end()) << label;
  return *found;
}

TEST(ReportModel, EveryKernelOfSearchesAndProductsIsCounted) {
  std::size_t counted = 0;
  std::set<std::string> labels;
  for (const KernelSource& source : kernels_of_devices()) {
    for (const char* name : {"scan_bounds", "l2_squared", "dot_product", "cosine_distance", "matmul"}) {
      if (source.name != name) continue;
      const auto found = detail::counted_kernel(detail::label_of(source));
      ASSERT_TRUE(found) << detail::label_of(source);
      ++counted;
      labels.insert(detail::label_of(source));
      for (const detail::CountedInstructions& each : found->instructions) {
        EXPECT_GT(each.loop, 3) << found->label;  // an instruction of a matrix unit makes 32 products of a lane
        EXPECT_GT(each.rest, 1) << found->label;
        EXPECT_LT(each.loop + each.rest, 2000) << found->label;
      }
    }
  }
  EXPECT_GE(counted, 40U);
  for (const char* tile : {"128 x 128", "128 x 64"}) {
    for (const char* loads : {"", " by words"}) {
      EXPECT_TRUE(labels.contains(fmt::format("scan_bounds i8, {}, mma{}", tile, loads))) << tile << loads;
    }
  }
}

TEST(ReportModel, KnowsCardsByNameAndComputeUnits) {
  const auto card = detail::known_card(device_named("NVIDIA GeForce RTX 4090", 128));
  ASSERT_TRUE(card);
  EXPECT_EQ(card->name, "RTX 4090");
  EXPECT_DOUBLE_EQ(card->memory_bytes, 1008e9);
  EXPECT_NEAR(card->fused, 128 * 2.52e9 * 128, 1e9);
  EXPECT_TRUE(detail::known_card(device_named("Apple M3 Max", 0))) << "WebGPU does not report the units";
  EXPECT_FALSE(detail::known_card(device_named("NVIDIA GeForce RTX 4090 Laptop GPU", 76)));
  EXPECT_FALSE(detail::known_card(device_named("NVIDIA A100-SXM4-40GB", 108)));
  EXPECT_FALSE(detail::known_card(device_named("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16)));
}

TEST(ReportModel, TakesTheRatesOfTheMakerOrOfTheCalibration) {
  const ModelRates known = detail::model_rates(device_named("NVIDIA B200", 148), measured_profile(), costs);
  EXPECT_THAT(known.source, HasSubstr("B200"));
  EXPECT_EQ(known.architecture, 3U);
  EXPECT_DOUBLE_EQ(known.memory_bytes_per_second, 8e12);
  EXPECT_GT(known.matrix_per_second, known.fused_per_second);
  EXPECT_DOUBLE_EQ(known.launch_seconds, costs.launch_seconds) << "calls are measured in any case";

  const DeviceProfile profile = measured_profile();
  const ModelRates measured = detail::model_rates(device_named("Some GPU", 40), profile, costs);
  EXPECT_THAT(measured.source, HasSubstr("measured at calibration"));
  EXPECT_DOUBLE_EQ(measured.memory_bytes_per_second, profile.memory_bytes_per_second);
  EXPECT_DOUBLE_EQ(measured.copy_bytes_per_second, 1e10);
  EXPECT_EQ(measured.fused_per_second, 0) << "not known";
  const double of_product = detail::counted_kernel("matmul f32")->instructions.at(2).loop / 128;
  EXPECT_DOUBLE_EQ(measured.instructions_per_second, 1e12 * of_product);
  const ModelRates native = detail::model_rates(device_named("Some GPU", 40), profile, {2e-6, 4e-6, 8e-6, true});
  EXPECT_DOUBLE_EQ(native.instructions_per_second, 1e12);
}

TEST(ReportModel, CountsWholeTilesAndRounds) {
  const ModelRates rates = detail::model_rates(device_named("NVIDIA H100 80GB HBM3", 132), measured_profile(), costs);
  const auto kernel = detail::counted_kernel("scan_bounds f32, 128 x 128");
  const detail::CountedInstructions each = kernel->instructions.at(2);
  JobCounts counts;
  ASSERT_TRUE(detail::add_kernel(counts, scan_kernel("scan_bounds f32, 128 x 128"), {1000, 100, 100}, rates));
  const double results = 1024.0 * 128;  // 8 tiles of 128 rows, 128 queries
  const double depth = 104;             // rounds of 8 elements
  EXPECT_EQ(kernel->round, 8U);
  EXPECT_DOUBLE_EQ(counts.instructions, results * (each.loop * depth / 128 + each.rest));
  EXPECT_DOUBLE_EQ(counts.fused, results * depth);
  EXPECT_EQ(counts.dots + counts.matrix, 0);

  JobCounts bytes;
  ASSERT_TRUE(detail::add_kernel(bytes, scan_kernel("scan_bounds i8, 64 x 4"), {64, 1, 128}, rates));
  EXPECT_DOUBLE_EQ(bytes.dots, 64 * 4 * 128.0 / 4);
  JobCounts units;
  ASSERT_TRUE(detail::add_kernel(units, scan_kernel("l2_squared f32"), {1, 64, 128}, rates));
  EXPECT_DOUBLE_EQ(units.fused, 64 * 64 * 128.0);
  KernelSource other = scan_kernel("l2_squared f32");
  other.name = "another";
  EXPECT_FALSE(detail::add_kernel(units, other, {1, 64, 128}, rates));
}

// A time of docs/gpu-evidence.md: an exact search of a million rows of 128 elements.
struct ModeledSearch {
  const char* device;
  std::uint32_t units;
  std::string kernel;
  double row_bytes;
  std::uint64_t queries;
  double seconds;
  std::string wall;
};

const ModeledSearch modeled_searches[] = {
#include "search/report/modeled_searches.inc"
};

// Which tools/gpu_evidence/roofline.py computes on its own.
TEST(ReportModel, PredictsTheTimesOfThePage) {
  constexpr detail::CallCosts assumed{2.5e-6, 5e-6, 10e-6, false};
  constexpr std::uint64_t rows = 1'000'000;
  constexpr std::uint64_t batch = 1000;
  for (const ModeledSearch& search : modeled_searches) {
    const KernelSource kernel = scan_kernel(search.kernel);
    const ModelRates rates =
        detail::model_rates(device_named(search.device, search.units), measured_profile(), assumed);
    JobCounts counts;
    counts.copies = 3;
    for (std::uint64_t first = 0; first < search.queries; first += batch) {
      counts.launches += 8;
      counts.bytes += static_cast<double>(rows) * search.row_bytes;
      ASSERT_TRUE(detail::add_kernel(counts, kernel, {rows, std::min(batch, search.queries - first), 128}, rates));
    }
    const JobPrediction made = detail::predict(counts, rates);
    SCOPED_TRACE(fmt::format("{}, {}, {} queries", search.device, search.kernel, search.queries));
    EXPECT_EQ(made.wall, search.wall);
    EXPECT_NEAR(made.seconds, search.seconds, 1e-3 * search.seconds);
  }
}

TEST(ReportModel, PredictsNothingFromRatesThatAreNotKnown) {
  JobCounts counts;
  counts.bytes = 1e9;
  counts.instructions = 1e12;
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    DeviceProfile profile = measured_profile();
    profile.memory_bytes_per_second = rate;
    EXPECT_THAT(detail::predict(counts, detail::model_rates(device_named("Some GPU", 40), profile, costs)).missing,
                HasSubstr("rate of memory"));
    profile = measured_profile();
    profile.operations_per_second.fp32 = rate;
    EXPECT_THAT(detail::predict(counts, detail::model_rates(device_named("Some GPU", 40), profile, costs)).missing,
                HasSubstr("rate of instructions"));
  }
}

TEST(ReportModel, CountsShapesOfAnySize) {
  const ModelRates rates = detail::model_rates(device_named("Some GPU", 40), measured_profile(), costs);
  const KernelSource kernel = scan_kernel("scan_bounds f32, 128 x 128");
  double before = -1;
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{129}, std::uint64_t{1} << 40U,
                                   std::numeric_limits<std::uint64_t>::max()}) {
    JobCounts counts;
    ASSERT_TRUE(detail::add_kernel(counts, kernel, {size, size, size}, rates));
    const double seconds = detail::predict(counts, rates).seconds;
    EXPECT_TRUE(std::isfinite(seconds));
    EXPECT_GT(seconds, before) << size;
    before = seconds;
  }
}

TEST(ReportModel, TheLongestTimeIsTheWall) {
  ModelRates rates;
  rates.memory_bytes_per_second = 1e12;
  rates.instructions_per_second = 4e13;
  rates.fused_per_second = 2e13;
  rates.dots_per_second = 1e13;
  rates.matrix_per_second = 1e15;
  rates.launch_seconds = 2e-6;
  rates.copy_seconds = 5e-6;
  rates.wait_seconds = 10e-6;
  rates.copy_bytes_per_second = 1e10;
  JobCounts counts;
  counts.launches = 8;
  counts.copies = 3;
  counts.copied_bytes = 1e5;
  const double host = 8 * 2e-6 + 3 * 5e-6 + 1e-5 + 10e-6;
  EXPECT_EQ(detail::predict(counts, rates).wall, "host");
  EXPECT_NEAR(detail::predict(counts, rates).seconds, host, 1e-12);
  counts.bytes = 1e9;
  EXPECT_EQ(detail::predict(counts, rates).wall, "memory");
  EXPECT_NEAR(detail::predict(counts, rates).seconds, 1e-3 + host, 1e-12);
  counts.instructions = 8e10;
  EXPECT_EQ(detail::predict(counts, rates).wall, "issue");
  EXPECT_NEAR(detail::predict(counts, rates).seconds, 2e-3 + host, 1e-12);
  JobCounts fused = counts;
  fused.fused = 6e10;
  EXPECT_EQ(detail::predict(fused, rates).wall, "FFMA");
  EXPECT_NEAR(detail::predict(fused, rates).seconds, 3e-3 + host, 1e-12);
  JobCounts dots = counts;
  dots.dots = 3e10;
  EXPECT_EQ(detail::predict(dots, rates).wall, "dp4a");
  JobCounts matrix = counts;
  matrix.matrix = 3e12;
  EXPECT_EQ(detail::predict(matrix, rates).wall, "mma");
  EXPECT_EQ(detail::predict(matrix, rates).missing, "");
}

}  // namespace
}  // namespace vectis
