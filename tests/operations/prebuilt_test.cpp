// Kernels that are compiled when Vectis is built: whatever call comes, its kernels are among them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "kernel/conformance/suite/suite.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::test {
namespace {

namespace suite = vectis::conformance;

// The texts that plans of one device may ask for, and whether they were all compiled for it.
class PrebuiltKernels : public testing::Test {
 protected:
  PrebuiltKernels() : context(*runtime.service<DeviceRegistry>().find("cpu")), nowhere(context, 4) {}

  // Whether every kernel of the case's plan is among `texts`; a plan the device has no room for asks for none.
  void expect_all(const suite::Subject& subject, const suite::Case& one, const DeviceInfo& device, Dialect dialect,
                  const std::set<std::string>& texts) {
    const Operation& operation = *find_operation(subject.operation);
    std::vector<View> views;
    const std::vector<suite::Shape> shapes = subject.shapes(one.dimensions, one.parameters);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::uint64_t gap = random.below(3);
      views.emplace_back(nowhere, one.types->types[i], shapes[i].rows, shapes[i].columns, random.below(9),
                         shapes[i].columns + gap);
      if (views.back().elements() == 0) return;
    }
    std::vector<ParameterValue> parameters = one.parameters;
    for (std::size_t i = parameters.size(); i < operation.parameters.size(); ++i)
      parameters.emplace_back(operation.parameters[i].default_value);
    try {
      for (const PlannedLaunch& launch : operation.plan({&operation, views, parameters}, device).launches) {
        ++launches;
        if (!known.insert(fmt::format("{}/{}", device.limits.shared_bytes_max, launch.key)).second) continue;
        EXPECT_TRUE(texts.contains(print(launch.source(), dialect)))
            << launch.key << " of " << subject.operation << " " << name(one);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
  }

  // A random case of the suite, and in half of the draws with each dimension up to 2^20.
  suite::Case draw(const suite::Subject& subject) {
    suite::Case one = suite::random_case(subject, random);
    if (random.below(2) == 0) return one;
    for (std::uint64_t& dimension : one.dimensions) dimension = std::uint64_t{1} << random.below(21) | random.below(9);
    if (subject.repair) subject.repair(one.dimensions);
    return one;
  }

  Runtime runtime;
  DeviceContext context;
  DeviceMemory nowhere;  // plans never look into it
  Random random{seed()};
  std::set<std::string> known;
  std::size_t launches = 0;
};

std::set<std::string> texts_of(const DeviceInfo& device, Dialect dialect) {
  std::set<std::string> texts;
  for (const KernelSource& source : builtin_kernels(device)) texts.insert(print(source, dialect));
  return texts;
}

TEST_F(PrebuiltKernels, CoverEveryConformanceCase) {
  for (const Dialect dialect : {Dialect::glsl_webgpu, Dialect::cuda}) {
    for (const DeviceInfo& device : prebuilt_devices(dialect)) {
      const std::set<std::string> texts = texts_of(device, dialect);
      for (const suite::Subject& subject : suite::whole_suite().subjects) {
        for (const suite::TypeSet& types : subject.type_sets) {
          for (const suite::Case& one : suite::cases_of(subject, types, suite::Coverage::full))
            expect_all(subject, one, device, dialect, texts);
        }
        for (int draws = 0; draws < 400; ++draws) {
          DeviceInfo other = device;  // texts may depend on what devices state alike, and on nothing else
          other.compute_units = static_cast<std::uint32_t>(random.below(300));
          other.memory_bytes = random.below(1U << 30U);
          other.software = random.below(2) == 0;
          expect_all(subject, draw(subject), other, dialect, texts);
        }
      }
    }
  }
  EXPECT_GT(launches, 20'000U);
  EXPECT_GT(known.size(), 150U);
}

TEST_F(PrebuiltKernels, AreWithinTheLimitsOfTheLargestDevice) {
  for (const Dialect dialect : {Dialect::glsl_webgpu, Dialect::cuda}) {
    for (const DeviceInfo& device : prebuilt_devices(dialect)) {
      for (const KernelSource& kernel : builtin_kernels(device)) {
        std::uint64_t shared = 0;
        for (const SharedArray& array : kernel.shared) shared += array.count * sizeof(float);
        EXPECT_LE(shared, device.limits.shared_bytes_max) << kernel.name;
        EXPECT_LE(kernel.buffers.size(), 8U) << kernel.name << ": storage buffers that WebGPU promises";
      }
    }
  }
}

}  // namespace
}  // namespace vectis::test
