#include "vectis/device/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "device/call.hpp"
#include "device/cores.hpp"
#include "device/host_memory.hpp"
#include "device/launch.hpp"
#include "device/observer.hpp"

namespace vectis::inline v0_1 {

namespace {

// Throws InvalidInput when `bytes` bytes of two memories overlap. Two slices, or a slice and its whole, may share
// bytes: what counts is their place in the allocation.
void check_disjoint(const detail::MemoryCore& target, std::uint64_t target_offset, const detail::MemoryCore& source,
                    std::uint64_t source_offset, std::uint64_t bytes) {
  const auto allocation = [](const detail::MemoryCore& memory) { return memory.whole ? memory.whole.get() : &memory; };
  if (allocation(target) != allocation(source)) return;
  const std::uint64_t to = target.offset + target_offset;
  const std::uint64_t from = source.offset + source_offset;
  if (to + bytes <= from || from + bytes <= to) return;
  throw Error(ErrorCode::invalid_input, "copy_on_device",
              fmt::format("the ranges of {} bytes at {} and {} of one allocation overlap; copy through another memory",
                          bytes, to, from));
}

// Throws the stream's sticky error, or InvalidInput for memory of another context. Returns the stream's context.
detail::ContextCore& check_stream(std::string_view op, const detail::StreamCore& stream,
                                  std::initializer_list<const detail::MemoryCore*> memories = {}) {
  stream.sticky->rethrow();
  for (const auto* memory : memories) detail::check_same_context(op, *stream.context, *memory->context);
  return *stream.context;
}

// Calls a required slot while a profiler observes the stream.
template <class... Call>
[[gnu::noinline, gnu::cold]] void enqueue_observed(detail::StreamObserver& observer, std::string_view op,
                                                   const detail::StreamCore& stream, const detail::Work& work,
                                                   Call... call) {
  detail::call_observed(observer, stream, work, [&] {
    detail::call(op, *stream.context, call...);
    return true;
  });
}

// Calls a required slot.
template <class... Call>
void enqueue(std::string_view op, const detail::StreamCore& stream, detail::WorkKind kind, std::string_view name,
             std::uint64_t bytes, Call... call) {
  if (auto* observer = detail::observer_of(stream)) [[unlikely]] {
    return enqueue_observed(*observer, op, stream, {kind, name, bytes}, call...);
  }
  detail::call(op, *stream.context, call...);
}

// Calls an optional slot while a profiler observes the stream.
template <class... Call>
[[gnu::noinline, gnu::cold]] bool try_enqueue_observed(detail::StreamObserver& observer, std::string_view op,
                                                       const detail::StreamCore& stream, const detail::Work& work,
                                                       Call... call) {
  return detail::call_observed(observer, stream, work,
                               [&] { return detail::call_optional(op, *stream.context, call...); });
}

// Calls `wait`, which reports failures of enqueued work; such a failure becomes the sticky error of its stream.
template <class Wait>
void wait_or_stick(detail::StickyError& sticky, const Wait& wait) {
  try {
    wait();
  } catch (const Error& error) {
    sticky.set(error);
    throw;
  }
}

[[gnu::noinline, gnu::cold]] bool try_run_op_observed(detail::StreamObserver& observer, std::string_view op,
                                                      const detail::StreamCore& stream, const VectisOpCall& call,
                                                      std::span<const detail::OpView> views) {
  std::uint64_t bytes = 0;
  for (const detail::OpView& view : views) bytes += view.rows * view.columns * size_of(view.type);
  return try_enqueue_observed(observer, op, stream, {detail::WorkKind::operation, op, bytes},
                              stream.context->slots().run_op, stream.handle, &call);
}

// Calls the optional slot run_op.
bool try_run_op(std::string_view op, const detail::StreamCore& stream, const VectisOpCall& call,
                std::span<const detail::OpView> views) {
  if (auto* observer = detail::observer_of(stream)) [[unlikely]] {
    return try_run_op_observed(*observer, op, stream, call, views);
  }
  return detail::call_optional(op, *stream.context, stream.context->slots().run_op, stream.handle, &call);
}

bool try_fill(const detail::StreamCore& stream, const detail::MemoryCore& target, std::uint64_t offset,
              std::uint64_t bytes, std::uint8_t value) {
  constexpr std::string_view op = "fill";
  detail::ContextCore& context = *stream.context;
  const auto slot = context.slots().fill;
  if (auto* observer = detail::observer_of(stream)) [[unlikely]] {
    return try_enqueue_observed(*observer, op, stream, {detail::WorkKind::fill, op, bytes}, slot, stream.handle,
                                target.handle, offset, bytes, value);
  }
  return detail::call_optional(op, context, slot, stream.handle, target.handle, offset, bytes, value);
}

}  // namespace

// The slot stream_destroy may let work finish in the background, also that of a lost device.
detail::StreamCore::~StreamCore() {
  if (handle != nullptr) drain(*this);
}

Stream::Stream(const DeviceContext& context) : core_(std::make_unique<detail::StreamCore>(context.core())) {
  detail::ContextCore& owner = *context.core();
  detail::call("create_stream", owner, owner.slots().stream_create, owner.handle, &core_->handle);
}

Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

DeviceContext Stream::context() const { return DeviceContext{core_->context}; }

void Stream::copy_to_device(const DeviceMemory& target, std::uint64_t offset, std::span<const std::byte> source) {
  constexpr std::string_view op = "copy_to_device";
  detail::ContextCore& context = check_stream(op, *core_, {target.core().get()});
  detail::check_range(op, *target.core(), offset, source.size());
  if (source.empty()) return;
  enqueue(op, *core_, detail::WorkKind::copy_to_device, op, source.size(), context.slots().copy_to_device,
          core_->handle, target.core()->handle, offset, static_cast<const void*>(source.data()),
          std::uint64_t{source.size()});
  context.device->backend->blocks.add_use(*core_, source.data());
}

void Stream::copy_to_host(std::span<std::byte> target, const DeviceMemory& source, std::uint64_t offset) {
  constexpr std::string_view op = "copy_to_host";
  detail::ContextCore& context = check_stream(op, *core_, {source.core().get()});
  detail::check_range(op, *source.core(), offset, target.size());
  if (target.empty()) return;
  enqueue(op, *core_, detail::WorkKind::copy_to_host, op, target.size(), context.slots().copy_to_host, core_->handle,
          static_cast<void*>(target.data()), source.core()->handle, offset, std::uint64_t{target.size()});
  context.device->backend->blocks.add_use(*core_, target.data());
}

void Stream::copy_on_device(const DeviceMemory& target, std::uint64_t target_offset, const DeviceMemory& source,
                            std::uint64_t source_offset, std::uint64_t bytes) {
  constexpr std::string_view op = "copy_on_device";
  detail::ContextCore& context = check_stream(op, *core_, {target.core().get(), source.core().get()});
  detail::check_range(op, *target.core(), target_offset, bytes);
  detail::check_range(op, *source.core(), source_offset, bytes);
  if (bytes == 0) return;
  check_disjoint(*target.core(), target_offset, *source.core(), source_offset, bytes);
  enqueue(op, *core_, detail::WorkKind::copy_on_device, op, bytes, context.slots().copy_on_device, core_->handle,
          target.core()->handle, target_offset, source.core()->handle, source_offset, bytes);
}

void Stream::fill(const DeviceMemory& target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  constexpr std::string_view op = "fill";
  check_stream(op, *core_, {target.core().get()});
  detail::check_range(op, *target.core(), offset, bytes);
  if (bytes == 0) return;
  if (try_fill(*core_, *target.core(), offset, bytes, value)) return;
  constexpr std::uint64_t block_bytes = 1 << 20;
  const std::vector<std::byte> block(std::min(bytes, block_bytes), std::byte{value});
  try {
    for (std::uint64_t done = 0; done < bytes; done += block.size()) {
      const std::uint64_t part = std::min<std::uint64_t>(bytes - done, block.size());
      copy_to_device(target, offset + done, std::span(block).first(part));
    }
    synchronize();  // the block must outlive the copies
  } catch (...) {
    detail::drain(*core_);  // also those enqueued before a failure
    throw;
  }
}

void Stream::launch(const EntryPoint& kernel, const LaunchShape& shape,
                    std::initializer_list<LaunchArgument> arguments) {
  launch(kernel, shape, std::span(arguments.begin(), arguments.size()));
}

void Stream::launch(const EntryPoint& kernel, const LaunchShape& shape, std::span<const LaunchArgument> arguments) {
  constexpr std::string_view op = "launch";
  detail::ContextCore& context = check_stream(op, *core_);
  detail::check_same_context(op, context, *kernel.core()->context);
  detail::check_shape(shape, context.device->info.limits);
  detail::InlinedVector<VectisArgument, 16> storage(arguments.size());
  const std::span<VectisArgument> lowered = storage.get();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].memory_) detail::check_same_context(op, context, *arguments[i].memory_->context);
    lowered[i] = detail::LoweredArgument::from(arguments[i]);
  }
  detail::check_shared(lowered, context.device->info.limits);
  detail::enqueue_launch(*core_, *kernel.core(), detail::lower(shape, lowered));
}

void detail::enqueue_launch(const StreamCore& stream, const KernelCore& kernel, const VectisLaunch& launch) {
  enqueue("launch", stream, WorkKind::launch, kernel.entry_point, 0, stream.context->slots().launch, stream.handle,
          kernel.handle, &launch);
}

bool detail::run_op(Stream& stream, const char* name, std::span<const OpView> views,
                    std::span<const VectisNumber> numbers) {
  const std::string_view op = name;
  ContextCore& context = check_stream(op, *stream.core());
  InlinedVector<VectisView, 8> storage(views.size());
  const std::span<VectisView> lowered = storage.get();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const OpView& view = views[i];
    const MemoryCore& memory = *view.memory->core();
    check_same_context(op, context, *memory.context);
    lowered[i] = {memory.handle, view.offset, view.rows, view.columns, view.stride, static_cast<VectisType>(view.type)};
  }
  const VectisOpCall call{sizeof(call), name, lowered.data(), lowered.size(), numbers.data(), numbers.size()};
  return try_run_op(op, *stream.core(), call, views);
}

void detail::record_event(const StreamCore& stream, EventCore& event) {
  ContextCore& context = check_stream("record", stream);
  check_same_context("record", context, *event.context);
  const std::lock_guard lock(event.mutex);
  call("record", context, context.slots().event_record, event.handle, stream.handle);
  event.recorded_on = stream.sticky;
}

void Stream::record(const Event& event) { detail::record_event(*core_, *event.core()); }

void Stream::wait(const Event& event) {
  detail::ContextCore& context = check_stream("wait", *core_);
  detail::check_same_context("wait", context, *event.core()->context);
  detail::call("wait", context, context.slots().stream_wait_event, core_->handle, event.core()->handle);
}

void Stream::synchronize() {
  detail::ContextCore& context = check_stream("synchronize", *core_);
  wait_or_stick(*core_->sticky,
                [&] { detail::call("synchronize", context, context.slots().stream_synchronize, core_->handle); });
}

Event::Event(const DeviceContext& context) : core_(std::make_shared<detail::EventCore>(context.core())) {
  detail::ContextCore& owner = *context.core();
  detail::call("create_event", owner, owner.slots().event_create, owner.handle, &core_->handle);
}

namespace {

// The sticky error of the stream on which the event was recorded; null when it was never recorded.
std::shared_ptr<detail::StickyError> recorded_on(detail::EventCore& event) {
  const std::lock_guard lock(event.mutex);
  return event.recorded_on;
}

}  // namespace

bool Event::completed() const {
  const auto sticky = recorded_on(*core_);
  if (!sticky) return true;
  detail::ContextCore& context = *core_->context;
  detail::check_usable("event_completed", context);
  detail::SlotMessage message;
  const VectisStatus status = context.slots().event_query(core_->handle, message.get());
  if (status == VECTIS_NOT_READY) return false;
  if (status != VECTIS_OK) wait_or_stick(*sticky, [&] { detail::fail("event_completed", context, status, message); });
  return true;
}

void Event::synchronize() const {
  const auto sticky = recorded_on(*core_);
  if (!sticky) return;
  detail::ContextCore& context = *core_->context;
  wait_or_stick(*sticky,
                [&] { detail::call("event_synchronize", context, context.slots().event_synchronize, core_->handle); });
}

std::optional<Duration> Event::timestamp() const {
  if (!recorded_on(*core_) || !completed()) return std::nullopt;
  detail::ContextCore& context = *core_->context;
  std::uint64_t nanoseconds = 0;
  if (!detail::call_optional("timestamp", context, context.slots().event_timestamp, core_->handle, &nanoseconds)) {
    return std::nullopt;
  }
  return Duration{static_cast<Duration::rep>(nanoseconds)};
}

LaunchArgument::LaunchArgument(const DeviceMemory& memory) : memory_(memory.core()) {}

LaunchArgument LaunchArgument::shared(std::size_t bytes) noexcept {
  LaunchArgument argument;
  argument.bytes_ = bytes;
  return argument;
}

}  // namespace vectis::inline v0_1
