// One hand-written kernel on the OpenCL device: vectors in, vectors out.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::test {

class LaunchTest : public testing::Test {
 protected:
  using Words = std::vector<std::uint32_t>;

  LaunchTest() : context_(*runtime_.service<DeviceRegistry>().find("opencl")), stream_(context_) {}

  // Runs `items` work-items, rounded up to whole groups, on buffers that hold `arrays`, which come back changed.
  void run(const KernelSource& source, std::uint32_t items, std::vector<Words>& arrays,
           std::vector<LaunchArgument> scalars = {}) {
    const Program program(context_, name(Dialect::opencl_c), print(source, Dialect::opencl_c),
                          compiler_options(Dialect::opencl_c));
    std::vector<DeviceMemory> memories;
    std::vector<LaunchArgument> arguments;
    for (const Words& array : arrays) {
      memories.emplace_back(context_, array.size() * sizeof(std::uint32_t));
      stream_.copy_to_device(memories.back(), 0, std::as_bytes(std::span(array)));
      arguments.emplace_back(memories.back());
    }
    arguments.insert(arguments.end(), scalars.begin(), scalars.end());
    const std::uint32_t groups = (items + source.group[0] - 1) / source.group[0];
    stream_.launch(EntryPoint(program, entry_point(source)), {{groups, 1, 1}, source.group}, arguments);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      stream_.copy_to_host(std::as_writable_bytes(std::span(arrays[i])), memories[i], 0);
    }
    stream_.synchronize();
  }

  DeviceContext& context() { return context_; }

 private:
  Runtime runtime_;
  DeviceContext context_;
  Stream stream_;
};

}  // namespace vectis::test
