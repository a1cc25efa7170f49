#include "plan/device_probe.hpp"

#include <algorithm>
#include <span>

#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr double nanoseconds_per_second = 1e9;
constexpr std::uint64_t copy_divisor = 16;       // a copy takes at most 1/16 of the device's largest allocation
constexpr double hardware_balance = 4;           // operations per byte: below any CPU or GPU of the last decade
constexpr double default_compile_seconds = 0.5;  // assumed when every kernel came from a cache

double seconds_since(std::uint64_t begin) {
  return static_cast<double>(monotonic_nanoseconds() - begin) / nanoseconds_per_second;
}

bool is_unsupported(const Error& error) {
  return error.code() == ErrorCode::no_compiler || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::compile_failed;
}

}  // namespace

DeviceProbe::DeviceProbe(const Device& device)
    : begin_(monotonic_nanoseconds()),
      context_(device),
      stream_(context_),
      compiled_before_(kernel_cache(context_).statistics().compiled) {}

const DeviceMemory& DeviceProbe::memory(std::size_t which, std::uint64_t bytes) {
  const auto found = memories_.find(which);
  if (found != memories_.end() && found->second.bytes() >= bytes) return found->second;
  if (found != memories_.end()) memories_.erase(found);
  const DeviceMemory& made = memories_.emplace(which, DeviceMemory(context_, bytes)).first->second;
  stream_.fill(made, 0, bytes, 0);
  stream_.synchronize();
  return made;
}

std::vector<std::byte>& DeviceProbe::host(std::uint64_t bytes) {
  if (host_.size() < bytes) host_.resize(bytes);
  return host_;
}

double DeviceProbe::timed(const std::function<void()>& work) {
  const std::uint64_t begin = monotonic_nanoseconds();
  work();
  stream_.synchronize();
  return seconds_since(begin);
}

double DeviceProbe::launch() {
  // Where kernels are compiled, uses the matrix product that is measured anyway, which saves compiling another kernel.
  if (!context_.device().info().dialects.empty()) {
    if (const auto seconds = multiply(Precision::fp32, 1)) return *seconds;
  }
  const DeviceMemory& target = memory(0, sizeof(float));
  return timed([&] { run(stream_, "fill", {{target, DType::float32, 1, 1}}, {0}); });
}

double DeviceProbe::copy_to_device(std::uint64_t bytes) {
  const DeviceMemory& target = memory(0, bytes);
  const std::span<const std::byte> source = std::span(host(bytes)).first(bytes);
  return timed([&] { stream_.copy_to_device(target, 0, source); });
}

double DeviceProbe::copy_to_host(std::uint64_t bytes) {
  const DeviceMemory& source = memory(0, bytes);
  const std::span<std::byte> target = std::span(host(bytes)).first(bytes);
  return timed([&] { stream_.copy_to_host(target, source, 0); });
}

double DeviceProbe::copy_on_device(std::uint64_t bytes) {
  const DeviceMemory& target = memory(0, bytes);
  const DeviceMemory& source = memory(1, bytes);
  return timed([&] { stream_.copy_on_device(target, 0, source, 0, bytes); });
}

bool DeviceProbe::has(Precision precision) const {
  const Capabilities& can = context_.device().info().capabilities;
  switch (precision) {
    case Precision::fp16:
      return can.fp16 || can.matrix;
    case Precision::bf16:
      return can.bf16;
    case Precision::int8:
      return can.int8_dot;
    case Precision::fp32:
      break;
  }
  return true;
}

std::optional<double> DeviceProbe::multiply(Precision precision, std::uint64_t side) {
  const DType type = dtype_of(precision);
  const DeviceMemory& factors = memory(0, side * side * sizeof(float));
  const DeviceMemory& product = memory(1, side * side * sizeof(float));
  const View factor(factors, type, side, side);
  const View result(product, type == DType::int8 ? DType::int32 : DType::float32, side, side);
  try {
    // The second factor is transposed, as in vector search.
    return timed([&] { run(stream_, "matmul", {factor, factor, result}, {0, 1}); });
  } catch (const Error& error) {
    if (is_unsupported(error)) return std::nullopt;
    throw;
  }
}

double DeviceProbe::min_balance() const { return context_.device().info().software ? 0 : hardware_balance; }

double DeviceProbe::compile_seconds(double warm_up_seconds) const {
  if (context_.device().info().dialects.empty()) return 0;
  return kernel_cache(context_).statistics().compiled > compiled_before_ ? warm_up_seconds : default_compile_seconds;
}

std::uint64_t DeviceProbe::max_bytes() const {
  const std::uint64_t limit = context_.device().info().limits.allocation_bytes_max / copy_divisor;
  return std::max<std::uint64_t>(limit, sizeof(float));
}

double DeviceProbe::resolution() const {
  const std::uint64_t begin = monotonic_nanoseconds();
  std::uint64_t now = begin;
  while (now == begin) now = monotonic_nanoseconds();
  return static_cast<double>(now - begin) / nanoseconds_per_second;
}

double DeviceProbe::elapsed() const { return seconds_since(begin_); }

}  // namespace vectis::inline v0_1::detail
