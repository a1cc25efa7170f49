#include "search/exact/host_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "search/exact/candidates.hpp"
#include "search/exact/code_storage.hpp"
#include "search/exact/scan_kernels.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t scan_grain = 128;  // groups of a piece of work: 2,048 rows
// Between checks of the deadline and of shared limits: at most so many groups, and fewer for many queries, so that a
// check comes at least every 100 ms. A kernel compares 2 * 10^9 elements of a query and a row per second or more.
constexpr std::size_t unchecked_groups_max = 2048;
constexpr std::size_t unchecked_groups_min = 4;
constexpr std::size_t unchecked_elements = 150'000'000;
constexpr std::size_t rerank_grain = 16;                        // queries
constexpr std::size_t encoded_bytes = std::size_t{256} << 10U;  // codes of rows that are encoded at a time: in L2

std::size_t groups_of(std::size_t rows) noexcept { return (rows + group_rows - 1) / group_rows; }

std::size_t groups_between_checks(std::size_t queries, std::size_t dim) noexcept {
  return std::clamp(unchecked_elements / (queries * dim * group_rows), unchecked_groups_min, unchecked_groups_max);
}

// Encodes rows of segments without codes, a few groups at a time.
class RangeEncoder {
 public:
  explicit RangeEncoder(const Quantizer& quantizer)
      : groups_(std::max<std::size_t>(2, encoded_bytes / (quantizer.chunks * chunk_bytes * group_rows))),
        encoder_(quantizer),
        storage_(quantizer, groups_) {}

  [[nodiscard]] std::size_t groups_max() const noexcept { return groups_; }
  // The codes of groups [first, last), at most groups_max(). Reads no removed rows, which a writer may be replacing.
  CodeBlock encode(const SegmentView& view, std::size_t first, std::size_t last) {
    const std::size_t dim = view.quantizer->dim;
    for (std::size_t group = first; group < last; ++group) {
      prefetch(view, group + 1);
      std::array<const float*, group_rows> rows{};
      for (std::size_t i = 0; i < group_rows; ++i) {
        const std::size_t row = group * group_rows + i;
        if (row < view.rows && !view.is_removed(row)) rows[i] = view.originals + row * dim;
      }
      encoder_.encode(rows, storage_.group(group - first));
    }
    return storage_.block(first * group_rows, std::min(last * group_rows, view.rows) - first * group_rows);
  }

 private:
  // The CPU itself prefetches within a page, which holds few long rows.
  static void prefetch(const SegmentView& view, std::size_t group) noexcept {
    constexpr std::size_t line = 64 / sizeof(float);
    const std::size_t dim = view.quantizer->dim;
    const std::size_t end = std::min((group + 1) * group_rows, view.rows) * dim;
    for (std::size_t at = group * group_rows * dim; at < end; at += line) {
      __builtin_prefetch(view.originals + at, 0, 2);  // into L2
    }
  }

  std::size_t groups_;
  GroupEncoder encoder_;
  CodeStorage storage_;
};

// What a thread keeps from one range of rows to the next.
struct ThreadScan {
  ThreadScan(const SearchTask& task, SharedLimits& limits) : candidates(task, limits) {}

  Candidates candidates;
  PreparedQueries queries;
  std::optional<RangeEncoder> encoder;
  const Quantizer* quantizer = nullptr;  // that the queries and the encoder are for
};

// One search by all threads. Ranges of groups, counted through all segments, are scanned with candidates of each
// thread's own and limits in common.
class HostSearch {
 public:
  HostSearch(Executor& executor, const SearchTask& task, const ScanKernel& kernel)
      : executor_(executor),
        task_(task),
        kernel_(kernel),
        between_checks_(groups_between_checks(task.query_count(), task.segments.front().quantizer->dim)),
        limits_(task.query_count(), initial_limit(task)) {
    for (const SegmentView& segment : task_.segments) ends_.push_back(groups() + groups_of(segment.rows));
  }

  [[nodiscard]] std::size_t groups() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  // Scans groups [begin, end), which may span several segments.
  void scan(std::size_t begin, std::size_t end) {
    std::unique_ptr<ThreadScan> scan = take_scan();
    auto segment = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
    for (; begin < end; ++segment) {
      const SegmentView& view = task_.segments[segment];
      const std::size_t segment_first = segment == 0 ? 0 : ends_[segment - 1];
      const std::size_t segment_end = std::min(end, ends_[segment]);
      if (scan->quantizer != view.quantizer) prepare(view, *scan);
      scan->candidates.begin(segment, scan->queries);
      for (; begin < segment_end; begin = std::min(segment_end, begin + between_checks_)) {
        task_.options->context.check("search", executor_);
        scan->candidates.refresh_limits();
        const std::size_t first = begin - segment_first;
        const std::size_t last = std::min(segment_end, begin + between_checks_) - segment_first;
        view.lacks_codes() ? scan_encoding(view, first, last, *scan) : scan_codes(view, first, last, *scan);
      }
    }
    const std::lock_guard lock(mutex_);
    idle_scans_.push_back(std::move(scan));
  }

  // Reranks what all scans found.
  ExactAnswer finish() {
    ExactAnswer answer{.hits = std::vector<std::vector<Hit>>(task_.query_count()), .explanation = {}};
    std::atomic<std::uint64_t> reranked = 0;
    for (const auto& scan : idle_scans_) reranked += scan->candidates.reranked();
    executor_.parallel_for(task_.query_count(), rerank_grain, [&](std::size_t begin, std::size_t end) {
      std::uint64_t count = 0;
      for (std::size_t query = begin; query < end; ++query) {
        std::vector<Candidate> all;
        for (const auto& scan : idle_scans_) {
          const std::vector<Candidate>& found = scan->candidates.of(query);
          all.insert(all.end(), found.begin(), found.end());
        }
        answer.hits[query] = rerank(task_, query, std::move(all), count);
      }
      reranked += count;
    });
    answer.explanation.kernel = kernel_.name;
    answer.explanation.rows_scanned = task_.rows_to_scan();
    answer.explanation.reranked = reranked;
    return answer;
  }

 private:
  void prepare(const SegmentView& view, ThreadScan& scan) const {
    scan.queries = prepare_queries(*view.quantizer, kernel_.form, task_.queries);
    if (kernel_.tiles) pack_tiles(scan.queries);
    scan.encoder.reset();
    if (view.lacks_codes()) scan.encoder.emplace(*view.quantizer);
    scan.quantizer = view.quantizer;
  }

  // Scans groups [first, last) of a segment.
  void scan_codes(const SegmentView& view, std::size_t first, std::size_t last, ThreadScan& scan) const {
    for (const CodeBlock& coded : view.code_blocks) {
      const RowRange range = range_of(view, coded, first, last);
      if (range.first_group < range.end_group) kernel_.scan(range, scan.queries, scan.candidates);
    }
  }
  void scan_encoding(const SegmentView& view, std::size_t first, std::size_t last, ThreadScan& scan) const {
    for (; first < last; first += scan.encoder->groups_max()) {
      const std::size_t end = std::min(last, first + scan.encoder->groups_max());
      const CodeBlock coded = scan.encoder->encode(view, first, end);
      kernel_.scan({&view, &coded, 0, end - first}, scan.queries, scan.candidates);
    }
  }

  // A scan that no thread uses, or a new one.
  std::unique_ptr<ThreadScan> take_scan() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_scans_.empty()) {
        std::unique_ptr<ThreadScan> scan = std::move(idle_scans_.back());
        idle_scans_.pop_back();
        return scan;
      }
    }
    return std::make_unique<ThreadScan>(task_, limits_);
  }

  // The groups [first, last) of the segment that the code block holds, counted within it. fp32 rows are scanned with
  // the first block alone.
  static RowRange range_of(const SegmentView& view, const CodeBlock& coded, std::size_t first, std::size_t last) {
    if (view.quantizer->precision == Precision::fp32) {
      return {&view, &coded, first, &coded == &view.code_blocks.front() ? last : first};
    }
    const std::size_t block_first = coded.first_row / group_rows;
    const std::size_t block_end = block_first + groups_of(coded.rows);
    const std::size_t from = std::max(first, block_first);
    const std::size_t to = std::max(from, std::min(last, block_end));
    return {&view, &coded, from - block_first, to - block_first};
  }

  Executor& executor_;
  const SearchTask& task_;
  const ScanKernel& kernel_;
  std::size_t between_checks_;  // groups
  SharedLimits limits_;
  std::vector<std::size_t> ends_;  // one past the last group of each segment, counted through all
  std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadScan>> idle_scans_;
};

}  // namespace

ExactAnswer host_search(Executor& executor, const SearchTask& task, std::string_view kernel) {
  ExactAnswer answer;
  if (task.segments.empty() || task.query_count() == 0 || task.k == 0) {
    answer.hits.resize(task.query_count());
    answer.explanation.kernel = "none";
  } else {
    const Precision precision = task.segments.front().quantizer->precision;
    HostSearch search(executor, task, choose_scan_kernel(precision, task.query_count(), kernel));
    if (search.groups() <= scan_grain || executor.concurrency() == 1) {
      search.scan(0, search.groups());
    } else {
      executor.parallel_for(search.groups(), scan_grain,
                            [&](std::size_t begin, std::size_t end) { search.scan(begin, end); });
    }
    answer = search.finish();
  }
  answer.explanation.device = "cpu";
  return answer;
}

std::string explain_host_search(const Executor& executor, const SearchTask& task, std::size_t queries,
                                std::string_view reason) {
  return fmt::format("a search of {} {} for the {} nearest: cpu, {} threads, the first of {} that fits; {}\n", queries,
                     queries == 1 ? "query" : "queries", task.k, executor.concurrency(),
                     fmt::join(usable_scan_kernels(task.precision), ", "), reason);
}

}  // namespace vectis::inline v0_1::exact
