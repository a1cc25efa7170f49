#include <fmt/format.h>

#include "vectis/base/error.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1 {

BufferBatch::BufferBatch(MemoryPool& pool, int device) : pool_(&pool), device_(device) {}

ManagedBuffer& BufferBatch::add_buffer(std::span<const std::byte> host_bytes, std::size_t elements,
                                       Precision precision) {
  if (host_bytes.size() / size_of(precision) != elements || host_bytes.size() % size_of(precision) != 0) {
    throw Error(ErrorCode::invalid_input, "add_buffer",
                fmt::format("{} bytes are not {} elements of {}, which have {} each", host_bytes.size(), elements,
                            name(precision), size_of(precision)));
  }
  auto buffer = std::make_unique<ManagedBuffer>(pool_->get_managed_buffer(device_, elements, precision));
  Stream stream(buffer->memory().context());
  stream.copy_to_device(buffer->memory(), 0, host_bytes);
  stream.synchronize();
  buffers_.push_back(std::move(buffer));
  return *buffers_.back();
}

}  // namespace vectis::inline v0_1
