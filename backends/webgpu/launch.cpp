#include <array>
#include <cstring>
#include <string>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::size_t buffers_max = 64;   // far above what devices bind
constexpr std::size_t scalars_max = 256;  // words

// The arguments of a launch, sorted without asking the allocator.
class Arguments {
 public:
  Arguments(const VectisLaunch& launch, std::uint64_t bound_max) : bound_max_(bound_max) {
    for (std::size_t index = 0; index < launch.argument_count; ++index) add(index, launch.arguments[index]);
  }

  [[nodiscard]] std::span<const BoundBuffer> buffers() const { return {buffers_.data(), buffer_count_}; }
  [[nodiscard]] std::span<const std::uint32_t> scalars() const { return {scalars_.data(), scalar_count_}; }

 private:
  void add(std::size_t index, const VectisArgument& argument) {
    if (argument.kind == VECTIS_ARGUMENT_MEMORY) {
      if (buffer_count_ == buffers_max) refuse(index, "is one buffer too many, the limit is 64");
      const BoundBuffer bound = argument.memory->bound();
      if (bound.bytes > bound_max_) {
        refuse(index, "is a memory of " + std::to_string(argument.memory->bytes) +
                          " bytes, the device gives a kernel at most " + std::to_string(bound_max_) +
                          " of one; launch over slices of it");
      }
      buffers_[buffer_count_++] = bound;
    } else if (argument.kind == VECTIS_ARGUMENT_SHARED) {
      refuse(index, "is shared memory, which a WebGPU kernel declares itself");
    } else if (argument.bytes != sizeof(std::uint32_t)) {
      refuse(index, "is a value of " + std::to_string(argument.bytes) + " bytes, WebGPU takes values of 4");
    } else if (scalar_count_ == scalars_max) {
      refuse(index, "is one value too many, the limit is 256");
    } else {
      std::memcpy(&scalars_[scalar_count_++], argument.value, sizeof(std::uint32_t));
    }
  }

  [[noreturn]] static void refuse(std::size_t index, const std::string& why) {
    throw Failure(VECTIS_INVALID_INPUT, "argument " + std::to_string(index) + " " + why);
  }

  std::uint64_t bound_max_;
  std::array<BoundBuffer, buffers_max> buffers_;
  std::array<std::uint32_t, scalars_max> scalars_;
  std::size_t buffer_count_ = 0;
  std::size_t scalar_count_ = 0;
};

// WebGPU compiles the shape of a group into the kernel: another one would run without a word.
void check_group(const Pipeline& pipeline, const VectisLaunch& launch) {
  for (std::size_t axis = 0; axis < pipeline.group.size(); ++axis) {
    if (pipeline.group[axis] == 0 || pipeline.group[axis] == launch.block[axis]) continue;
    throw Failure(VECTIS_INVALID_INPUT, "the launch has groups of " + std::to_string(launch.block[axis]) +
                                            " work-items along dimension " + std::to_string(axis) + ", '" +
                                            pipeline.name + "' is compiled for " +
                                            std::to_string(pipeline.group[axis]));
  }
}

}  // namespace

VectisStatus launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch,
                    VectisMessage* message) noexcept {
  return guarded(message, [&] {
    check_group(kernel->pipeline, *launch);
    const Arguments arguments(*launch, stream->context.gpu.limits().maxStorageBufferBindingSize);
    stream->recorder.dispatch({kernel->pipeline,
                               arguments.buffers(),
                               arguments.scalars(),
                               {launch->grid[0], launch->grid[1], launch->grid[2]}});
    return VECTIS_OK;
  });
}

}  // namespace vectis::webgpu
