#include "search/exact/device/search.hpp"

#include <algorithm>

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t batches_together = 16;  // that keep a device busy; other searches wait for them

// The share of a search that one device computes.
struct DevicePart {
  SearchTask task;                    // with its queries
  std::size_t first_query = 0;        // of the search
  std::vector<std::size_t> segments;  // indexes of the task's segments
  std::vector<std::vector<Hit>> hits;
  DeviceScanCounts counts;
};

// Shards: all queries and a share of the segments. Replicas: a share of the queries and all segments.
std::vector<DevicePart> parts_of(const SearchTask& task, DeviceSplit split, std::span<const std::size_t> shards,
                                 std::size_t devices) {
  std::vector<DevicePart> parts(devices);
  const std::size_t queries = task.query_count();
  for (std::size_t i = 0; i < devices; ++i) {
    const std::size_t first = split == DeviceSplit::shards ? 0 : queries * i / devices;
    const std::size_t last = split == DeviceSplit::shards ? queries : queries * (i + 1) / devices;
    parts[i].task = task;
    parts[i].task.queries = task.queries.subspan(first * task.dim, (last - first) * task.dim);
    parts[i].first_query = first;
    parts[i].hits.resize(last - first);
    for (std::size_t s = 0; s < task.segments.size(); ++s) {
      if (split == DeviceSplit::replicas || shards[s] == i) parts[i].segments.push_back(s);
    }
  }
  return parts;
}

// Joins what two devices found for a query: the k nearest, equal distances by lower id.
void merge(std::vector<Hit>& hits, std::vector<Hit>&& others, std::size_t k) {
  if (hits.empty() || others.empty()) {
    if (hits.empty()) hits = std::move(others);
    return;
  }
  const auto nearer = [](const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  };
  std::vector<Hit> all(hits.size() + others.size());
  std::ranges::merge(hits, others, all.begin(), nearer);
  all.resize(std::min(k, all.size()));
  hits = std::move(all);
}

// The segments with a tombstone also for each row that the task's filter excludes. The filter, whose predicate may
// throw or search, is asked here once for each row: outside of the scans, which hold a lock and whose errors are the
// device's.
std::vector<SegmentView> filtered_segments(const SearchTask& task, const Executor& executor) {
  std::vector<SegmentView> segments(task.segments.begin(), task.segments.end());
  for (SegmentView& segment : segments) {
    task.options->context.check("search", executor);
    const auto excluded = std::make_shared<std::uint64_t[]>((segment.rows + 63) / 64);
    bool any = false;
    for (std::size_t row = 0; row < segment.rows; ++row) {
      if (task.allows(segment, row)) continue;
      excluded.get()[row / 64] |= std::uint64_t{1} << (row % 64);
      any = true;
    }
    segment.removed = any ? excluded : nullptr;
  }
  return segments;
}

}  // namespace

DeviceSearch::DeviceSearch(Runtime& runtime, std::span<const Device> devices) : runtime_(runtime) {
  for (const Device& device : devices) scans_.push_back(std::make_unique<DeviceScan>(runtime, device));
}

std::string DeviceSearch::labels() const {
  std::string all;
  for (const auto& scan : scans_) all += (all.empty() ? "" : ", ") + scan->device().label();
  return all;
}

std::uint64_t DeviceSearch::resident_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& scan : scans_) sum += scan->resident_bytes();
  return sum;
}

std::vector<std::size_t> DeviceSearch::shards_of(std::span<const SegmentView> segments) const {
  std::vector<std::size_t> shards(segments.size());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto own = std::ranges::find_if(
        scans_, [&](const auto& scan) { return segments[s].device && scan->device().id() == *segments[s].device; });
    shards[s] = own == scans_.end() ? s % scans_.size() : static_cast<std::size_t>(own - scans_.begin());
  }
  return shards;
}

void DeviceSearch::prepare(std::span<const SegmentView> segments, DeviceSplit split) {
  const std::vector<std::size_t> shards = shards_of(segments);
  for (std::size_t i = 0; i < scans_.size(); ++i) {
    std::vector<std::size_t> chosen;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      if (split == DeviceSplit::replicas || shards[s] == i) chosen.push_back(s);
    }
    scans_[i]->prepare(segments, chosen);
  }
}

DeviceSearchAnswer DeviceSearch::search(const SearchTask& task, DeviceSplit split) {
  const std::size_t queries = task.query_count();
  DeviceSearchAnswer answer;
  answer.hits.resize(queries);
  if (task.segments.empty() || queries == 0 || task.k == 0) return answer;
  if (task.options->filter) {
    const std::vector<SegmentView> segments = filtered_segments(task, runtime_.executor());
    SearchOptions options = *task.options;
    options.filter.reset();
    SearchTask unfiltered = task;
    unfiltered.segments = segments;
    unfiltered.options = &options;
    return search(unfiltered, split);
  }
  std::size_t batch_max = SIZE_MAX;
  for (const auto& scan : scans_) batch_max = std::min(batch_max, scan->batch_size(task.dim, task.k));
  for (std::size_t first = 0; first < queries;) {
    const std::size_t count = std::min(batches_together * batch_max, queries - first);
    SearchTask some = task;
    some.queries = task.queries.subspan(first * task.dim, count * task.dim);
    search_some(some, split, batch_max, std::span(answer.hits).subspan(first, count), answer);
    first += count;
  }
  answer.rows_scanned = task.rows_to_scan();
  return answer;
}

void DeviceSearch::search_some(const SearchTask& task, DeviceSplit split, std::size_t batch_max,
                               std::span<std::vector<Hit>> hits, DeviceSearchAnswer& answer) {
  std::vector<DevicePart> parts = parts_of(task, split, shards_of(task.segments), scans_.size());
  runtime_.executor().parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      parts[i].counts = scans_[i]->scan(parts[i].task, parts[i].segments, *tuner_, batch_max, parts[i].hits);
    }
  });
  for (DevicePart& part : parts) {
    for (std::size_t i = 0; i < part.hits.size(); ++i) {
      merge(hits[part.first_query + i], std::move(part.hits[i]), task.k);
    }
    answer.reranked += part.counts.reranked;
    answer.counts.streamed_segments += part.counts.streamed_segments;
    answer.counts.overflown_queries += part.counts.overflown_queries;
  }
}

}  // namespace vectis::inline v0_1::exact
