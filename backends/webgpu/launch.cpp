#include <array>
#include <cstring>
#include <string>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::size_t buffers_max = 64;   // far above the bindings that devices offer
constexpr std::size_t scalars_max = 256;  // 32-bit values

// The arguments of a launch by kind, without heap allocation. Throws INVALID_INPUT for one that WebGPU does not take.
class Arguments {
 public:
  Arguments(const VectisLaunch& launch, std::uint64_t binding_max) : binding_max_(binding_max) {
    for (std::size_t index = 0; index < launch.argument_count; ++index) add(index, launch.arguments[index]);
  }

  [[nodiscard]] std::span<const BoundBuffer> buffers() const { return {buffers_.data(), buffer_count_}; }
  [[nodiscard]] std::span<const std::uint32_t> scalars() const { return {scalars_.data(), scalar_count_}; }

 private:
  void add(std::size_t index, const VectisArgument& argument) {
    if (argument.kind == VECTIS_ARGUMENT_MEMORY) {
      if (buffer_count_ == buffers_max) reject(index, "is buffer 65, the limit is 64");
      const BoundBuffer bound = argument.memory->bound();
      if (bound.bytes > binding_max_) {
        reject(index, "is a memory of " + std::to_string(argument.memory->bytes) + " bytes, the device binds at most " +
                          std::to_string(binding_max_) + " of one to a kernel; launch over slices of it");
      }
      buffers_[buffer_count_++] = bound;
    } else if (argument.kind == VECTIS_ARGUMENT_SHARED) {
      reject(index, "is shared memory, which WGSL declares in the kernel: var<workgroup>");
    } else if (argument.bytes != sizeof(std::uint32_t)) {
      reject(index, "is a value of " + std::to_string(argument.bytes) + " bytes, WebGPU takes values of 4 bytes");
    } else if (scalar_count_ == scalars_max) {
      reject(index, "is value 257, the limit is 256");
    } else {
      std::memcpy(&scalars_[scalar_count_++], argument.value, sizeof(std::uint32_t));
    }
  }

  [[noreturn]] static void reject(std::size_t index, const std::string& why) {
    throw Failure(VECTIS_INVALID_INPUT, "argument " + std::to_string(index) + " " + why);
  }

  std::uint64_t binding_max_;
  std::array<BoundBuffer, buffers_max> buffers_;
  std::array<std::uint32_t, scalars_max> scalars_;
  std::size_t buffer_count_ = 0;
  std::size_t scalar_count_ = 0;
};

// The workgroup size is compiled into the kernel: WebGPU would run a launch with another one without an error.
void check_block(const Pipeline& pipeline, const VectisLaunch& launch) {
  for (std::size_t axis = 0; axis < pipeline.block.size(); ++axis) {
    if (pipeline.block[axis] == 0 || pipeline.block[axis] == launch.block[axis]) continue;
    throw Failure(VECTIS_INVALID_INPUT, "the launch has blocks of " + std::to_string(launch.block[axis]) +
                                            " work-items along dimension " + std::to_string(axis) + ", '" +
                                            pipeline.name + "' is compiled for " +
                                            std::to_string(pipeline.block[axis]));
  }
}

}  // namespace

}  // namespace vectis::webgpu

namespace vectis::plugin {

using namespace webgpu;

void launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch) {
  check_block(kernel->pipeline, *launch);
  const Arguments arguments(*launch, stream->context.gpu.limits().maxStorageBufferBindingSize);
  stream->recorder.dispatch({kernel->pipeline,
                             arguments.buffers(),
                             arguments.scalars(),
                             {launch->grid[0], launch->grid[1], launch->grid[2]}});
}

}  // namespace vectis::plugin
