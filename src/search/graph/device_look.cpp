#include "search/graph/device_look.hpp"

#include <vector>

namespace vectis::inline v0_1::graph {

std::uint64_t DeviceLook::bytes() const {
  const std::lock_guard lock(mutex_);
  return rows_ ? rows_->bytes() : 0;
}

// Rows of a later epoch will do: what is not visible is left out in the end, and lists may have changed anyway.
void DeviceLook::bring(const Epoch& epoch) {
  if (rows_ && body_.lock() == epoch.body && epoch_ >= epoch.number) return;
  rows_.reset();
  // What the epoch does not show may just become another vector. Walks do not pass it, unlike those of this processor.
  const Heads& heads = epoch.body->heads;
  auto brought = std::make_unique<DeviceRows>(runtime_, device_, *epoch.body, epoch.rows, epoch.entries,
                                              [&](Slot slot) { return heads.visible(slot, epoch.number); });
  brought->take_links(runtime_.executor(), epoch.body->graph.links);
  rows_ = std::move(brought);
  body_ = epoch.body;
  epoch_ = epoch.number;
}

std::uint64_t DeviceLook::find(const Epoch& epoch, const Effort& effort, std::size_t width,
                               std::span<const float> queries, RowLists& found) {
  const Frame& frame = epoch.body->graph.frame;
  const std::size_t count = queries.size() / frame.dim;
  std::vector<float> placed(count * frame.coded_dim);
  runtime_.executor().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      place_query_among_rows(frame, queries.data() + i * frame.dim, placed.data() + i * frame.coded_dim);
    }
  });
  const std::lock_guard lock(mutex_);
  try {
    bring(epoch);
    rows_->walk_for_queries(placed, {.width = width, .nearest = effort.nearest, .slack = effort.slack});
    rows_->fetch_found(found);
    return rows_->fetch_scored();
  } catch (...) {
    rows_.reset();  // a stream that failed once fails for ever
    throw;
  }
}

}  // namespace vectis::inline v0_1::graph
