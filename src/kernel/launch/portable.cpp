#include "kernel/launch/portable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "device/call.hpp"
#include "kernel/launch/check.hpp"
#include "kernel/launch/dialect.hpp"
#include "kernel/launch/parts.hpp"
#include "memory/device_pool.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// The language hand-written kernels are printed in for a device.
Dialect dialect_of(const ContextCore& context, std::string_view op) {
  if (const auto dialect = printed_dialect(context.device->info, KernelOrigin::built_in)) return *dialect;
  throw Error(ErrorCode::no_compiler, op,
              fmt::format("{} does not do this operation itself and compiles no language kernels are printed in; use "
                          "another device",
                          describe(*context.device)));
}

// Device memory between the launches of one call. From the pool when the stream is of the pool's context; in another
// context the driver keeps what work under way still needs.
class Temporaries {
 public:
  Temporaries(Stream& stream, const std::vector<std::uint64_t>& bytes) {
    if (bytes.empty()) return;
    const DeviceContext context = stream.context();
    MemoryPool& pool = memory_pool(context.core()->device->backend->runtime);
    const int device = context.core()->device->id;
    const bool pooled =
        pool.memory_usage(device).has_value() && pool.device_pool(device)->context().core() == context.core();
    for (const std::uint64_t size : bytes) {
      if (pooled) {
        buffers_.push_back(pool.get_managed_buffer(device, size, Precision::int8, {.stream = &stream, .context = {}}));
        memories_.push_back(buffers_.back().memory());
      } else {
        memories_.emplace_back(context, size);
      }
    }
  }
  [[nodiscard]] const DeviceMemory& operator[](std::size_t index) const { return memories_[index]; }

 private:
  std::vector<ManagedBuffer> buffers_;
  std::vector<DeviceMemory> memories_;
};

// The key is put together on the stack and the function is handed on by reference: nearly every launch finds its kernel
// and should not ask the allocator for anything.
EntryPoint compiled(const DeviceContext& context, Dialect dialect, const PlannedLaunch& launch) {
  fmt::memory_buffer key;
  key.append(std::string_view("operation/"));
  key.append(launch.key);
  const auto make = [&] {
    const KernelSource source = launch.source();
    return KernelText{std::string(name(dialect)), print(source, dialect), entry_point(source, dialect),
                      std::string(compiler_options(dialect))};
  };
  return kernel_cache(context).entry_point(context, std::string_view(key.data(), key.size()),
                                           std::function<KernelText()>(std::cref(make)));
}

void run_bound(Stream& stream, const OperationCall& call) {
  const DeviceContext context = stream.context();
  const Dialect dialect = dialect_of(*context.core(), call.operation->name);
  check_portable(call);
  LaunchPlan plan = call.operation->plan(call, context.core()->device->info);
  const Temporaries temporaries(stream, plan.temporary_bytes);
  std::vector<LaunchArgument> arguments;
  for (PlannedLaunch& launch : plan.launches) {
    arguments.clear();
    arguments.reserve(launch.buffers.size() + launch.scalars.size());
    for (const std::size_t place : launch.buffers) {
      const bool is_view = place < call.views.size();
      arguments.emplace_back(is_view ? call.views[place].memory : temporaries[place - call.views.size()]);
    }
    std::ranges::move(launch.scalars, std::back_inserter(arguments));
    stream.launch(compiled(context, dialect, launch), launch.shape, arguments);
  }
}

}  // namespace

void run_portable(Stream& stream, const OperationCall& call) {
  const DeviceCore& device = *stream.core()->context->device;
  if (bindable(call, device.info.limits)) return run_bound(stream, call);
  for_each_part(call, device, [&](const OperationCall& part) { run_bound(stream, part); });
}

}  // namespace vectis::inline v0_1::detail
