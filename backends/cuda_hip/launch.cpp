// Kernel launches, and the operations that the vendor's BLAS computes.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::cuda_hip {

namespace {

constexpr std::size_t shared_alignment = 16;

// A launch's arguments as the driver takes them. Shared memory is not a kernel parameter here: the text declares
// `extern __shared__`, in which the shared arguments lie one after another.
struct DriverArguments {
  std::vector<void*> parameters;
  std::vector<std::size_t> sizes;
  std::size_t shared_bytes = 0;
};

DriverArguments to_driver_arguments(const VectisLaunch& launch) {
  DriverArguments converted;
  converted.parameters.reserve(launch.argument_count);
  converted.sizes.reserve(launch.argument_count);
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    const VectisArgument& argument = launch.arguments[i];
    if (argument.kind == VECTIS_ARGUMENT_SHARED) {
      converted.shared_bytes += (argument.bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
    } else if (argument.kind == VECTIS_ARGUMENT_MEMORY) {
      converted.parameters.push_back(&argument.memory->address);
      converted.sizes.push_back(sizeof(Address));
    } else {
      converted.parameters.push_back(const_cast<void*>(argument.value));
      converted.sizes.push_back(argument.bytes);
    }
  }
  return converted;
}

void check_arguments(const VectisKernel& kernel, const DriverArguments& converted) {
  if (!kernel.parameters) return;
  const std::vector<std::size_t>& wanted = *kernel.parameters;
  if (converted.sizes.size() != wanted.size()) {
    throw Failure(VECTIS_INVALID_INPUT, "the launch has " + std::to_string(converted.sizes.size()) +
                                            " arguments other than shared memory, the kernel takes " +
                                            std::to_string(wanted.size()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (converted.sizes[i] == wanted[i]) continue;
    throw Failure(VECTIS_INVALID_INPUT, "argument " + std::to_string(i) + " has " + std::to_string(converted.sizes[i]) +
                                            " bytes, the kernel takes " + std::to_string(wanted[i]));
  }
}

void check_block(const VectisKernel& kernel, const VectisLaunch& launch) {
  const std::uint64_t items = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (items <= kernel.block_items_max) return;
  throw Failure(VECTIS_INVALID_INPUT, "the block has " + std::to_string(items) + " items, this kernel takes at most " +
                                          std::to_string(kernel.block_items_max));
}

// A failure to create the library's handle stays: a library that does not run on this driver fails slowly each time.
const Blas& blas_of(const VectisContext& context, const BlasLibrary& library) {
  const std::lock_guard lock(context.blas_mutex);
  if (!context.blas_failure.empty()) throw Failure(VECTIS_UNSUPPORTED, context.blas_failure);
  try {
    if (context.blas == nullptr) context.blas = library.create();
  } catch (const Failure& failure) {
    context.blas_failure = failure.what();
    throw;
  }
  return *context.blas;
}

constexpr std::size_t workspace_bytes = std::size_t{32} << 20U;  // NVIDIA's recommendation for Hopper and newer

// The stream's workspace, allocated at its first product. Without memory for it the library gets none.
const Workspace& workspace_of(VectisStream& stream) {
  if (std::exchange(stream.workspace_requested, true)) return stream.workspace;
  Address address{};
  if (static_cast<int>(stream.owner.api.MemAlloc(&address, workspace_bytes)) == 0)
    stream.workspace = {address, workspace_bytes};
  return stream.workspace;
}

}  // namespace

}  // namespace vectis::cuda_hip

namespace vectis::plugin {

using namespace cuda_hip;

void launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch) {
  DriverArguments arguments = to_driver_arguments(*launch);
  check_arguments(*kernel, arguments);
  check_block(*kernel, *launch);
  const Api& api = stream->owner.api;
  const CurrentContext current(api, stream->owner.context.get());
  stream->busy = true;
  VECTIS_CALL(api, LaunchKernel, kernel->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
              launch->block[1], launch->block[2], static_cast<unsigned>(arguments.shared_bytes), stream->handle,
              arguments.parameters.data(), nullptr);
}

VectisStatus run_op(VectisStream* stream, const VectisOpCall* call) {
  if (std::string_view(call->name) != "matmul") return VECTIS_UNSUPPORTED;
  const BlasLibrary* library = stream->owner.blas_library.get(stream->owner.driver_version);
  if (library == nullptr) return VECTIS_UNSUPPORTED;
  const CurrentContext current(stream->owner.api, stream->owner.context.get());
  stream->busy = true;
  const Blas& blas = blas_of(stream->owner, *library);
  blas.multiply(*stream, *call, workspace_of(*stream));
  return VECTIS_OK;
}

}  // namespace vectis::plugin
