#include "array/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "array/element_code.hpp"
#include "array/engine.hpp"
#include "array/node.hpp"
#include "memory/device_pool.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::uint64_t word = 4;  // bytes; kernels read and write whole words

DType narrow_type(DType type) { return type == DType::float64 ? DType::float32 : DType::int32; }

}  // namespace

Storage::~Storage() {
  if (lane != nullptr) lane->release(buffer);
}

Lane::Lane(Engine& engine, Runtime& runtime, Device device)
    : engine_(engine),
      runtime_(runtime),
      device_(std::move(device)),
      is_host_(device_.backend() == "cpu"),
      pool_(memory_pool(runtime)) {
  options_.context = options_.context.with_memory_tag("array");
}

void Lane::check_type(std::string_view op, DType type) const {
  if (is_host_ || has_ir(type)) return;
  throw Error(ErrorCode::unsupported, op,
              fmt::format("arrays of {} are on the CPU only, not on '{}'; convert to {}, or allow it by the setting "
                          "array.wide_types=downcast",
                          vectis::name(type), device_.label(), vectis::name(narrow_type(type))));
}

DType Lane::placed_type(std::string_view op, DType type, const std::optional<WideTypes>& wide_types) {
  if (is_host_ || has_ir(type)) return type;
  const WideTypes policy = wide_types.value_or(
      runtime_.settings().text("array.wide_types") == "downcast" ? WideTypes::downcast : WideTypes::refuse);
  if (policy == WideTypes::refuse) check_type(op, type);
  if (!was_downcast_.exchange(true)) {
    runtime_.logger().log(LogLevel::warning, "array",
                          fmt::format("arrays of {} become {} on '{}'; this is logged once", vectis::name(type),
                                      vectis::name(narrow_type(type)), device_.label()));
  }
  return narrow_type(type);
}

// Requires the lock.
Stream& Lane::stream() {
  if (!stream_) {
    stream_ = std::make_unique<Stream>(pool_.device_pool(device_.id())->context());
    if (!is_host_) options_.stream = stream_.get();
  }
  return *stream_;
}

std::uint64_t Lane::pool_bytes(std::uint64_t bytes) const noexcept {
  if (is_host_) return bytes <= Storage::inline_bytes ? 0 : bytes;
  return std::max<std::uint64_t>(1, (bytes + word - 1) / word) * word;
}

std::shared_ptr<Storage> Lane::allocate(std::uint64_t bytes) {
  auto storage = std::make_shared<Storage>();
  const std::uint64_t pooled = pool_bytes(bytes);
  if (pooled == 0) {
    storage->host = storage->small.data();
    return storage;
  }
  if (is_host_) {
    storage->buffer = pool_.allocate_bytes(device_.id(), pooled, options_);
    storage->host = storage->buffer.memory().address();
    return storage;
  }
  const std::scoped_lock lock(mutex_);
  (void)stream();
  storage->buffer = pool_.allocate_bytes(device_.id(), pooled, options_);
  storage->lane = this;
  ++counts_.allocations;
  return storage;
}

void Lane::allocate(Node& node) {
  node.storage = allocate(static_cast<std::uint64_t>(node.elements()) * node.element_bytes());
}

std::shared_ptr<Storage> Lane::allocate_element() {
  auto storage = std::make_shared<Storage>();
  storage->host = storage->small.data();
  return storage;
}

void Lane::run_operation(std::string_view name, std::span<const View> views,
                         std::span<const ParameterValue> parameters) {
  const std::scoped_lock lock(mutex_);
  run(stream(), name, views, parameters);
  if (is_host_) stream_->synchronize();
  ++counts_.launches;
}

bool Lane::run_native(const char* name, std::span<const detail::OpView> views, std::span<const VectisNumber> numbers) {
  const std::scoped_lock lock(mutex_);
  const bool is_done = detail::run_op(stream(), name, views, numbers);
  if (is_host_) stream_->synchronize();
  if (is_done) ++counts_.launches;
  return is_done;
}

void Lane::map(const ir::Function& function, const MapBuffers& buffers, std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  vectis::map(stream(), function, buffers, count);
  ++counts_.launches;
}

void Lane::copy_to_device(std::span<const std::byte> source, const Storage& target) {
  const std::scoped_lock lock(mutex_);
  stream().copy_to_device(target.buffer.memory(), 0, source);
  stream_->synchronize();
  ++counts_.copies_to_device;
}

void Lane::copy_to_host(const Storage& source, std::uint64_t offset, std::span<std::byte> target) {
  const std::scoped_lock lock(mutex_);
  stream().copy_to_host(target, source.buffer.memory(), offset);
  stream_->synchronize();
  ++counts_.copies_to_host;
}

void Lane::release(ManagedBuffer& buffer) noexcept {
  const std::scoped_lock lock(mutex_);
  buffer.release();
}

LaneStatistics Lane::statistics() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

LaneStatistics statistics(const Device& device) { return lane_of(device).statistics(); }

}  // namespace vectis::inline v0_1::array
