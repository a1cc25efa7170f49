#include "kernel/launch/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "device/call.hpp"
#include "device/launch.hpp"
#include "device/observer.hpp"
#include "kernel/launch/check.hpp"
#include "kernel/launch/compile.hpp"
#include "kernel/launch/split.hpp"
#include "memory/device_pool.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1 {

namespace {

using detail::operands_max;
using detail::parameters_max;

const Operation& operation_named(std::string_view name) {
  if (const Operation* const found = find_operation(name)) return *found;
  throw Error(
      ErrorCode::invalid_input, "run",
      fmt::format("there is no operation '{}' among {}; docs/operations.md lists them", name, operations().size()));
}

// Everything that checks of types and shapes, plans and kernels depend on: the operation, the types, shapes and places
// of the views, and the parameters, but not the memories.
class CallSignature {
 public:
  CallSignature(const Operation& operation, std::span<const View> views, std::span<const ParameterValue> parameters) {
    add(static_cast<std::uint64_t>(&operation - operations().data()));
    for (const View& view : views) {
      add(static_cast<std::uint64_t>(view.type));
      add(view.rows);
      add(view.columns);
      add(view.offset);
      add(view.stride);
    }
    for (const ParameterValue& parameter : parameters) {
      add(static_cast<std::uint64_t>(parameter.integer));
      add(std::bit_cast<std::uint64_t>(parameter.real));
    }
  }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return {words_.data(), count_}; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  void add(std::uint64_t word) noexcept {
    words_[count_++] = word;
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15U;  // Fibonacci hashing: 2^64 divided by the golden ratio
    hash_ ^= hash_ >> 32U;
  }

  std::array<std::uint64_t, 1 + 5 * operands_max + 2 * parameters_max> words_;
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
};

// A compiled kernel with its launch as the backend takes it; each call only fills in the memories.
struct PreparedLaunch {
  EntryPoint kernel;
  std::vector<std::size_t> buffers;       // PlannedLaunch::buffers
  std::vector<LaunchArgument> scalars;    // `arguments` points into them
  std::vector<VectisArgument> arguments;  // memories, then scalars
  VectisLaunch lowered;                   // points to `arguments`
};

// A call that passed its checks. Not shared between threads, like the stream it belongs to.
struct PreparedCall {
  PreparedCall(const Operation& called, std::span<const ParameterValue> given)
      : operation(called), parameters(called, given) {}

  [[nodiscard]] OperationCall with(std::span<const View> views) const { return {&operation, views, parameters.get()}; }

  const Operation& operation;
  detail::CallParameters parameters;
  bool declined = false;  // the backend's run_op left the call to the portable kernels
  bool planned = false;   // the fields below are set
  std::vector<std::uint64_t> temporary_bytes;
  std::vector<PreparedLaunch> launches;
};

// The calls a stream made last, so that a repeated call plans, compiles and allocates nothing. A set-associative cache:
// each signature belongs to one set, in which a new call replaces the least recently used one.
class CallCache final : public detail::StreamExtension {
 public:
  static CallCache& of(const detail::StreamCore& stream) {
    if (!stream.extension) stream.extension = std::make_unique<CallCache>();
    return static_cast<CallCache&>(*stream.extension);
  }

  [[nodiscard]] PreparedCall* find(const CallSignature& signature) noexcept {
    for (Entry& entry : set_of(signature)) {
      if (!std::ranges::equal(entry.words, signature.words())) continue;
      entry.last_use = ++uses_;
      return entry.call.get();
    }
    return nullptr;
  }
  PreparedCall& insert(const CallSignature& signature, std::unique_ptr<PreparedCall> call) {
    Entry& entry = *std::ranges::min_element(set_of(signature), {}, &Entry::last_use);
    entry.words.assign(signature.words().begin(), signature.words().end());
    entry.call = std::move(call);
    entry.last_use = ++uses_;
    return *entry.call;
  }

 private:
  struct Entry {
    std::vector<std::uint64_t> words;  // of the signature; empty: unused
    std::unique_ptr<PreparedCall> call;
    std::uint64_t last_use = 0;
  };
  using Set = std::array<Entry, 4>;
  Set& set_of(const CallSignature& signature) noexcept { return sets_[signature.hash() % sets_.size()]; }

  std::array<Set, 16> sets_;  // 64 calls, more than a search or a layer of a network repeats
  std::uint64_t uses_ = 0;
};

// Device memory between the launches of one call. From the pool if the stream belongs to the pool's context; in another
// context it is allocated, and the driver keeps it until enqueued work is done with it.
class Temporaries {
 public:
  Temporaries(Stream& stream, const std::vector<std::uint64_t>& bytes) : pooled_(bytes.size()) {
    if (bytes.empty()) return;
    const DeviceContext context = stream.context();
    MemoryPool& pool = memory_pool(context.core()->device->backend->runtime);
    const int device = context.core()->device->id;
    const bool in_pool =
        pool.memory_usage(device).has_value() && pool.device_pool(device)->context().core() == context.core();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (in_pool) {
        pooled_.get()[i] =
            pool.get_managed_buffer(device, bytes[i], Precision::int8, {.stream = &stream, .context = {}});
      } else {
        allocated_.emplace_back(context, bytes[i]);
      }
    }
  }
  [[nodiscard]] const DeviceMemory& operator[](std::size_t index) {
    return allocated_.empty() ? pooled_.get()[index].memory() : allocated_[index];
  }

 private:
  detail::InlinedVector<ManagedBuffer, 4> pooled_;
  std::vector<DeviceMemory> allocated_;
};

EntryPoint compile(const DeviceContext& context, Dialect dialect, const PlannedLaunch& launch) {
  const std::function<KernelText()> print_kernel = [&] {
    const KernelSource source = launch.source();
    return KernelText{std::string(name(dialect)), print(source, dialect), entry_point(source, dialect),
                      std::string(compiler_options(dialect))};
  };
  return kernel_cache(context).entry_point(context, "operation/" + launch.key, print_kernel);
}

PreparedLaunch prepare(const DeviceContext& context, Dialect dialect, PlannedLaunch launch) {
  const DeviceLimits& limits = context.core()->device->info.limits;
  detail::check_shape(launch.shape, limits);
  PreparedLaunch prepared{
      compile(context, dialect, launch), std::move(launch.buffers), std::move(launch.scalars), {}, {}};
  prepared.arguments.resize(prepared.buffers.size(), {VECTIS_ARGUMENT_MEMORY, nullptr, nullptr, 0});
  for (const LaunchArgument& scalar : prepared.scalars) {
    prepared.arguments.push_back(detail::LoweredArgument::from(scalar));
  }
  detail::check_shared(prepared.arguments, limits);
  prepared.lowered = detail::lower(launch.shape, prepared.arguments);
  return prepared;
}

// Plans and compiles the portable kernels of a call whose memories the device can bind whole.
void plan_kernels(const DeviceContext& context, PreparedCall& prepared, const OperationCall& call) {
  const detail::DeviceCore& device = *context.core()->device;
  const auto dialect = detail::printed_dialect(device.info, detail::KernelOrigin::built_in);
  if (!dialect) {
    throw Error(ErrorCode::no_compiler, call.operation->name,
                fmt::format("{} neither runs this operation itself nor compiles a language kernels are printed in; use "
                            "another device (`vectis devices` lists them)",
                            detail::describe(device)));
  }
  detail::check_portable(call);
  LaunchPlan plan = call.operation->plan(call, device.info);
  std::vector<PreparedLaunch> launches;
  launches.reserve(plan.launches.size());
  for (PlannedLaunch& launch : plan.launches) launches.push_back(prepare(context, *dialect, std::move(launch)));
  prepared.launches = std::move(launches);
  prepared.temporary_bytes = std::move(plan.temporary_bytes);
  prepared.planned = true;
}

void run_kernels(Stream& stream, PreparedCall& prepared, const OperationCall& call) {
  if (!prepared.planned) plan_kernels(stream.context(), prepared, call);
  stream.core()->sticky->rethrow();
  Temporaries temporaries(stream, prepared.temporary_bytes);
  for (PreparedLaunch& launch : prepared.launches) {
    for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
      const std::size_t place = launch.buffers[i];
      const DeviceMemory& memory =
          place < call.views.size() ? call.views[place].memory : temporaries[place - call.views.size()];
      launch.arguments[i].memory = memory.core()->handle;
    }
    detail::enqueue_launch(*stream.core(), *launch.kernel.core(), launch.lowered);
  }
}

// Returns whether the backend enqueued the operation itself.
bool run_natively(Stream& stream, const OperationCall& call) {
  std::array<detail::OpView, operands_max> views;
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    const View& view = call.views[i];
    views[i] = {&view.memory, view.offset, view.rows, view.columns, view.stride, view.type};
  }
  std::array<VectisNumber, parameters_max> parameters{};
  for (std::size_t i = 0; i < call.parameters.size(); ++i) {
    parameters[i] = {call.parameters[i].integer, call.parameters[i].real};
  }
  return detail::run_op(stream, call.operation->name.c_str(), {views.data(), call.views.size()},
                        {parameters.data(), call.parameters.size()});
}

void run_prepared(Stream& stream, PreparedCall& prepared, const OperationCall& call) {
  if (!prepared.declined) {
    if (run_natively(stream, call)) return;
    prepared.declined = true;
  }
  if (detail::bindable(call, stream.core()->context->device->info.limits)) return run_kernels(stream, prepared, call);
  detail::run_portable(stream, call);
}

[[gnu::noinline, gnu::cold]] void run_observed(detail::StreamObserver& observer, Stream& stream, PreparedCall& prepared,
                                               const OperationCall& call) {
  const OperationCost cost = call.operation->cost(call);
  const detail::ObservedRange range(observer, {call.operation->name, static_cast<std::uint64_t>(cost.bytes),
                                               cost.operations, stream.core()->context->device->id});
  run_prepared(stream, prepared, call);
}

// The call as the stream made it before, or null if it has to be prepared.
PreparedCall* find_prepared(const detail::StreamCore& stream, const Operation& operation, std::span<const View> views,
                            std::span<const ParameterValue> parameters) {
  if (views.size() != operation.operands.size() || parameters.size() > operation.parameters.size()) return nullptr;
  return CallCache::of(stream).find({operation, views, parameters});
}

}  // namespace

void detail::run_portable(Stream& stream, const OperationCall& call) {
  const auto run_bound = [&](const OperationCall& part) {
    PreparedCall prepared(*part.operation, part.parameters);
    run_kernels(stream, prepared, part);
  };
  const DeviceCore& device = *stream.core()->context->device;
  if (bindable(call, device.info.limits)) return run_bound(call);
  for_each_part(call, device, run_bound);
}

void run(Stream& stream, std::string_view operation, std::span<const View> views,
         std::span<const ParameterValue> parameters) {
  const Operation& named = operation_named(operation);
  const detail::StreamCore& core = *stream.core();
  PreparedCall* prepared = find_prepared(core, named, views, parameters);
  if (prepared != nullptr) {
    detail::check_memory(prepared->with(views), *core.context);
  } else {
    auto made = std::make_unique<PreparedCall>(named, parameters);
    const OperationCall call = made->with(views);
    detail::check_call(call, *core.context);
    if (std::ranges::any_of(views, [](const View& view) { return view.elements() == 0; })) {
      if (named.when_empty) named.when_empty(stream, call);
      return;
    }
    prepared = &CallCache::of(core).insert({named, views, parameters}, std::move(made));
  }
  const OperationCall call = prepared->with(views);
  if (auto* observer = detail::observer_of(core)) [[unlikely]]
    return run_observed(*observer, stream, *prepared, call);
  run_prepared(stream, *prepared, call);
}

void run(Stream& stream, std::string_view operation, std::initializer_list<View> views,
         std::initializer_list<ParameterValue> parameters) {
  run(stream, operation, std::span(views.begin(), views.size()), std::span(parameters.begin(), parameters.size()));
}

View::View(DeviceMemory where, DType kind, std::uint64_t row_count, std::uint64_t column_count)
    : View(std::move(where), kind, row_count, column_count, 0, column_count) {}

View::View(DeviceMemory where, DType kind, std::uint64_t row_count, std::uint64_t column_count, std::uint64_t first,
           std::uint64_t row_stride)
    : memory(std::move(where)), type(kind), rows(row_count), columns(column_count), offset(first), stride(row_stride) {}

std::uint64_t View::end() const noexcept {
  return rows == 0 || columns == 0 ? offset : offset + (rows - 1) * stride + columns;
}

}  // namespace vectis::inline v0_1
