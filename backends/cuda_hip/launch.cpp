#include <string>
#include <vector>

#include "current.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

constexpr std::size_t shared_alignment = 16;

// What the driver takes. Shared memory is no parameter of a kernel here: the text declares `extern __shared__`, in
// which the shared arguments lie one behind the other.
struct LoweredArguments {
  std::vector<void*> parameters;
  std::vector<std::size_t> sizes;
  std::size_t shared_bytes = 0;
};

LoweredArguments lower(const VectisLaunch& launch) {
  LoweredArguments lowered;
  lowered.parameters.reserve(launch.argument_count);
  lowered.sizes.reserve(launch.argument_count);
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    const VectisArgument& argument = launch.arguments[i];
    if (argument.kind == VECTIS_ARGUMENT_SHARED) {
      lowered.shared_bytes += (argument.bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
    } else if (argument.kind == VECTIS_ARGUMENT_MEMORY) {
      lowered.parameters.push_back(&argument.memory->address);
      lowered.sizes.push_back(sizeof(Address));
    } else {
      lowered.parameters.push_back(const_cast<void*>(argument.value));
      lowered.sizes.push_back(argument.bytes);
    }
  }
  return lowered;
}

void check_arguments(const VectisKernel& kernel, const LoweredArguments& lowered) {
  if (!kernel.parameters) return;
  const std::vector<std::size_t>& wanted = *kernel.parameters;
  if (lowered.sizes.size() != wanted.size()) {
    throw Failure(VECTIS_INVALID_INPUT, "the launch has " + std::to_string(lowered.sizes.size()) +
                                            " arguments beside shared memory, the kernel takes " +
                                            std::to_string(wanted.size()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (lowered.sizes[i] == wanted[i]) continue;
    throw Failure(VECTIS_INVALID_INPUT, "argument " + std::to_string(i) + " has " + std::to_string(lowered.sizes[i]) +
                                            " bytes, the kernel takes " + std::to_string(wanted[i]));
  }
}

void check_group(const VectisKernel& kernel, const VectisLaunch& launch) {
  const std::uint64_t items = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (items <= kernel.group_items_max) return;
  throw Failure(VECTIS_INVALID_INPUT, "the group has " + std::to_string(items) + " items, this kernel takes " +
                                          std::to_string(kernel.group_items_max) + " at most");
}

}  // namespace

VectisStatus launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch,
                    VectisMessage* message) noexcept {
  return guarded(message, [&] {
    LoweredArguments lowered = lower(*launch);
    check_arguments(*kernel, lowered);
    check_group(*kernel, *launch);
    const Api& api = stream->owner.api;
    const Current current(api, stream->owner.context.get());
    VECTIS_CALL(api, LaunchKernel, kernel->function, launch->grid[0], launch->grid[1], launch->grid[2],
                launch->block[0], launch->block[1], launch->block[2], static_cast<unsigned>(lowered.shared_bytes),
                stream->handle, lowered.parameters.data(), nullptr);
    return VECTIS_OK;
  });
}

}  // namespace vectis::cuda_hip
