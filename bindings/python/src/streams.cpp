#include "streams.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "vectis/memory/pool.hpp"

namespace vectis::python {
namespace {

// The context of the pool on one device and the streams that no call uses.
struct DeviceStreams {
  std::optional<DeviceContext> context;
  std::vector<Stream> idle;
};

struct AllStreams {
  std::mutex mutex;
  std::map<std::pair<Runtime*, int>, DeviceStreams> by_device;
};

// Never destroyed: drivers may be gone when the process ends.
AllStreams& all_streams() {
  static auto* const all = new AllStreams;
  return *all;
}

}  // namespace

DeviceContext pool_context(const PyDevice& device) {
  device.runtime->check_fork("device");  // before the lock, which another thread of the parent may have held
  AllStreams& all = all_streams();
  const auto key = std::pair(device.runtime, device.device.id());
  {
    const std::scoped_lock lock(all.mutex);
    const DeviceStreams& streams = all.by_device[key];
    if (streams.context && !streams.context->lost()) return *streams.context;
  }
  const ManagedBuffer buffer = memory_pool(*device.runtime).allocate_bytes(device.device.id(), 4);
  DeviceContext context = buffer.memory().context();
  const std::scoped_lock lock(all.mutex);
  DeviceStreams& streams = all.by_device[key];
  if (!streams.context || streams.context->core() != context.core()) streams.idle.clear();
  streams.context = context;
  return context;
}

BorrowedStream::BorrowedStream(const PyDevice& device) : device_(device) {
  const DeviceContext context = pool_context(device);
  AllStreams& all = all_streams();
  {
    const std::scoped_lock lock(all.mutex);
    std::vector<Stream>& idle = all.by_device[{device.runtime, device.device.id()}].idle;
    if (!idle.empty()) {
      stream_.emplace(std::move(idle.back()));
      idle.pop_back();
      return;
    }
  }
  stream_.emplace(context);
}

BorrowedStream::~BorrowedStream() {
  if (!finished_) return;
  AllStreams& all = all_streams();
  const std::scoped_lock lock(all.mutex);
  DeviceStreams& streams = all.by_device[{device_.runtime, device_.device.id()}];
  if (streams.context && streams.context->core() == stream_->context().core()) {
    streams.idle.push_back(std::move(*stream_));
  }
}

void BorrowedStream::finish() {
  stream_->synchronize();
  finished_ = true;
}

}  // namespace vectis::python
