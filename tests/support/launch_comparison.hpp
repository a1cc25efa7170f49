// Compares the cost of a named operation with that of its kernel launched by the bare driver API.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel.hpp"

namespace vectis::test {

constexpr int launches_in_batch = 500;

// `fill` of one row of 64 floats: the operation, and the launch plan that a bare program repeats.
struct FillLaunch {
  static constexpr std::uint32_t columns = 64;

  FillLaunch(Runtime& runtime, const std::string& backend)
      : context(*runtime.service<DeviceRegistry>().find(backend)),
        stream(context),
        view(DeviceMemory(context, sizeof(float) * columns), DType::float32, 1, columns) {
    const ParameterValue one = 1.0;
    const Operation& fill = *find_operation("fill");
    plan = fill.plan({&fill, {&view, 1}, {&one, 1}}, context.device().info());
  }

  // A batch of launches and one wait.
  void run_batch() {
    for (int i = 0; i < launches_in_batch; ++i) run(stream, "fill", {view}, {1.0});
    stream.synchronize();
  }

  DeviceContext context;
  Stream stream;
  View view;
  LaunchPlan plan;
};

// Runs batches of both in turns and prints the median times of one launch and their ratio as JSON.
template <class BareBatch>
void compare_launches(FillLaunch& ours, const BareBatch& bare_batch) {
  constexpr int rounds = 41;
  const auto nanoseconds_per_launch = [](const auto& batch) {
    const std::uint64_t start = monotonic_nanoseconds();
    batch();
    return static_cast<double>(monotonic_nanoseconds() - start) / launches_in_batch;
  };
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  ours.run_batch();
  bare_batch();
  std::vector<double> our_times;
  std::vector<double> bare_times;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    our_times.push_back(nanoseconds_per_launch([&] { ours.run_batch(); }));
    bare_times.push_back(nanoseconds_per_launch(bare_batch));
    ratios.push_back(our_times.back() / bare_times.back());
  }
  const nlohmann::ordered_json report = {{"nanoseconds of a launch", median(our_times)},
                                         {"nanoseconds of a bare launch", median(bare_times)},
                                         {"ratio", median(ratios)}};
  std::cout << report.dump(2) << '\n';
}

}  // namespace vectis::test
