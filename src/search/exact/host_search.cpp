#include "search/exact/host_search.hpp"

#include <algorithm>
#include <mutex>

#include "search/exact/candidates.hpp"
#include "search/exact/scan.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t scan_grain = 128;       // groups: 2,048 rows
constexpr std::size_t between_checks = 2048;  // groups, after which limits of others and the deadline are looked at
constexpr std::size_t resolve_grain = 16;     // queries

std::size_t groups_of(const SegmentView& segment) noexcept { return (segment.rows + group_rows - 1) / group_rows; }

// Scans groups [first, last) of a segment, run by run.
void scan_groups(const Way& way, const SegmentView& segment, std::size_t first, std::size_t last,
                 const PreparedQueries& queries, Survivors& survivors) {
  if (segment.frame->precision == Precision::fp32) {
    way.scan({&segment, &segment.runs[0], first, last}, queries, survivors);
    return;
  }
  for (const CodeRun& run : segment.runs) {
    if (run.rows == 0) continue;
    const std::size_t run_first = run.first_row / group_rows;
    const std::size_t run_last = run_first + (run.rows + group_rows - 1) / group_rows;
    const std::size_t from = std::max(first, run_first);
    const std::size_t to = std::min(last, run_last);
    if (from < to) way.scan({&segment, &run, from - run_first, to - run_first}, queries, survivors);
  }
}

// What a thread brings from one range of rows to the next.
struct HostScan {
  HostScan(const SearchTask& task, SharedLimits& limits) : candidates(task, limits) {}

  Candidates candidates;
  PreparedQueries queries;
  std::size_t segment = SIZE_MAX;  // the queries are prepared for
};

// One search by all threads: ranges of groups, counted through all segments, are scanned with candidates of each
// thread's own and limits in common.
class HostSearch {
 public:
  HostSearch(Executor& executor, const SearchTask& task, std::string_view way)
      : executor_(executor),
        task_(task),
        limits_(task_.query_count(), task_.first_limit()),
        way_(choose_way(task.segments.front().frame->precision, task_.query_count(), way)) {
    for (const SegmentView& segment : task_.segments) ends_.push_back(groups() + groups_of(segment));
  }

  HostSearchAnswer run() {
    executor_.parallel_for(groups(), scan_grain, [&](std::size_t begin, std::size_t end) { scan(begin, end); });
    HostSearchAnswer answer{.hits = std::vector<std::vector<Hit>>(task_.query_count()), .way = std::string(way_.name)};
    answer.rows_scanned = task_.rows_to_scan();
    for (const auto& scan : scans_) answer.survivors += scan->candidates.resolved();
    std::atomic<std::uint64_t> survivors = 0;
    executor_.parallel_for(task_.query_count(), resolve_grain, [&](std::size_t begin, std::size_t end) {
      std::uint64_t resolved = 0;
      for (std::size_t query = begin; query < end; ++query) answer.hits[query] = hits_of(query, resolved);
      survivors += resolved;
    });
    answer.survivors += survivors;
    return answer;
  }

 private:
  [[nodiscard]] std::size_t groups() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  void scan(std::size_t begin, std::size_t end) {
    std::unique_ptr<HostScan> scan = begin_scan();
    std::size_t segment = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
    for (; begin < end; ++segment) {
      const std::size_t segment_first = segment == 0 ? 0 : ends_[segment - 1];
      const std::size_t last = std::min(end, ends_[segment]);
      scan_segment(segment, begin - segment_first, last - segment_first, *scan);
      begin = last;
    }
    const std::lock_guard lock(mutex_);
    scans_.push_back(std::move(scan));
  }

  // One that no thread works with, or a new one.
  std::unique_ptr<HostScan> begin_scan() {
    {
      const std::lock_guard lock(mutex_);
      if (!scans_.empty()) {
        std::unique_ptr<HostScan> scan = std::move(scans_.back());
        scans_.pop_back();
        return scan;
      }
    }
    return std::make_unique<HostScan>(task_, limits_);
  }

  void scan_segment(std::size_t segment, std::size_t first, std::size_t last, HostScan& scan) {
    const SegmentView& view = task_.segments[segment];
    if (scan.segment != segment) scan.queries = prepare_queries(*view.frame, way_.form, task_.queries);
    scan.segment = segment;
    scan.candidates.begin(segment, scan.queries);
    for (; first < last; first += between_checks) {
      task_.options->context.check("search", executor_);
      scan.candidates.refresh_limits();
      scan_groups(way_, view, first, std::min(last, first + between_checks), scan.queries, scan.candidates);
    }
  }

  std::vector<Hit> hits_of(std::size_t query, std::uint64_t& resolved) {
    std::vector<Candidate> all;
    for (const auto& scan : scans_) {
      const std::vector<Candidate>& part = scan->candidates.of(query);
      all.insert(all.end(), part.begin(), part.end());
    }
    return resolve(task_, query, std::move(all), resolved);
  }

  Executor& executor_;
  const SearchTask& task_;
  SharedLimits limits_;
  const Way& way_;
  std::vector<std::size_t> ends_;  // of each segment's groups, counted through
  std::mutex mutex_;
  std::vector<std::unique_ptr<HostScan>> scans_;  // that no thread works with
};

}  // namespace

HostSearchAnswer host_search(Executor& executor, const SearchTask& task, std::string_view way) {
  if (task.segments.empty() || task.query_count() == 0 || task.k == 0) {
    return {.hits = std::vector<std::vector<Hit>>(task.query_count()), .way = "nothing to scan"};
  }
  return HostSearch(executor, task, way).run();
}

}  // namespace vectis::inline v0_1::exact
