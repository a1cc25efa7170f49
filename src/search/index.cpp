#include "vectis/search/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "search/common/checks.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/file.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr double logged_seconds = 1;  // calls that take longer are logged

// Runs `call`, which works on `count` vectors, and returns its result. Logs how long the call took when it succeeded
// and took long.
template <class Call>
auto timed(const Runtime& runtime, std::string_view op, std::size_t count, const Call& call) {
  const std::uint64_t begin = monotonic_nanoseconds();
  const auto finish = [&] {
    const double seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
    if (seconds < logged_seconds || !runtime.logger().wants(LogLevel::info)) return;
    runtime.logger().log(LogLevel::info, "search", fmt::format("{} of {} vectors took {:.1f} s", op, count, seconds));
  };
  if constexpr (std::is_void_v<std::invoke_result_t<Call>>) {
    call();
    finish();
  } else {
    const auto result = call();
    finish();
    return result;
  }
}

// Runs `call`, which works on all vectors of the index, as timed() does. Throws Forked, Cancelled or DeadlineExceeded
// before that, and before it asks the index for its size.
template <class Call>
void timed_on_all(const Index& index, const Runtime& runtime, std::string_view op, const Context& context,
                  const Call& call) {
  runtime.check_fork(op);
  context.check(op, runtime.executor());
  timed(runtime, op, index.size(), call);
}

// The rows of a view as contiguous floats: the caller's own where they are, else a copy.
class ContiguousRows {
 public:
  ContiguousRows(std::string_view op, const MatrixView& view, std::size_t dim) {
    detail::check_view(op, view, dim);
    if (view.stride == dim || view.rows <= 1) {
      rows_ = {view.data, view.rows * dim};
      return;
    }
    try {
      copy_.resize(view.rows * dim);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::allocation, op,
                  fmt::format("not enough memory to copy {} rows of {} floats with a stride of {}; pass fewer rows at "
                              "once, or contiguous rows, which are not copied",
                              view.rows, dim, view.stride));
    }
    for (std::size_t i = 0; i < view.rows; ++i) std::ranges::copy(view.row(i), copy_.begin() + offset(i * dim));
    rows_ = copy_;
  }
  [[nodiscard]] std::span<const float> rows() const noexcept { return rows_; }

 private:
  static std::ptrdiff_t offset(std::size_t i) noexcept { return static_cast<std::ptrdiff_t>(i); }

  std::vector<float> copy_;
  std::span<const float> rows_;
};

void check_search_options(const SearchOptions& options, bool has_beam, std::string_view kind) {
  detail::check_radius("search", options.radius);
  detail::check_recall("search", options.recall);
  if (!options.ef) return;
  if (options.recall) {
    throw Error(ErrorCode::invalid_input, "search",
                fmt::format("ef {} and recall {} are both set; choose the beam width or the recall, not both",
                            *options.ef, *options.recall));
  }
  if (!has_beam) {
    throw Error(ErrorCode::invalid_input, "search",
                fmt::format("ef {} is set, but '{}' is exact and has no beam; leave ef out, or use 'graph'",
                            *options.ef, kind));
  }
  if (*options.ef == 0) {
    throw Error(ErrorCode::invalid_input, "search", "ef is 0, it must be at least 1; 100 is usual");
  }
}

}  // namespace

MatrixView::MatrixView(std::span<const float> values, std::size_t row_dim)
    : data(values.data()), dim(row_dim), stride(row_dim) {
  detail::check_dim("MatrixView", row_dim);
  rows = detail::count_rows("MatrixView", values.size(), row_dim);
}

std::string SearchExplanation::text() const {
  std::string lines = fmt::format("device    {} ({})\nscanned   {} rows as {}\nreranked  {} rows by exact distance\n",
                                  device, kernel, rows_scanned, name(precision), reranked);
  if (!reason.empty()) lines += fmt::format("because   {}\n", reason);
  lines += fmt::format("took      {:.3f} ms\n", seconds * 1e3);
  return lines;
}

SearchResult::SearchResult(const std::vector<std::vector<Hit>>& hits_of_queries, SearchExplanation explanation)
    : explanation_(std::move(explanation)) {
  ends_.reserve(hits_of_queries.size());
  std::size_t count = 0;
  for (const std::vector<Hit>& hits : hits_of_queries) ends_.push_back(count += hits.size());
  hits_.reserve(count);
  for (const std::vector<Hit>& hits : hits_of_queries) hits_.insert(hits_.end(), hits.begin(), hits.end());
}

std::span<const Hit> SearchResult::operator[](std::size_t query) const {
  if (query >= ends_.size()) {
    throw Error(ErrorCode::invalid_input, "SearchResult",
                fmt::format("query {} does not exist, the result has {} queries; use an index below that", query,
                            ends_.size()));
  }
  const std::size_t begin = query == 0 ? 0 : ends_[query - 1];
  return std::span(hits_).subspan(begin, ends_[query] - begin);
}

IndexDevices Index::devices() const { return {{}, "the index searches on the host CPU"}; }

std::string IndexDevices::labels() const {
  std::string all = host || devices.empty() ? "cpu" : "";
  for (const Device& device : devices) all += (all.empty() ? "" : ", ") + device.label();
  return all;
}

std::uint64_t Index::add(std::span<const float> vectors, const Context& context) {
  context.check("add", runtime_->executor());
  const std::size_t rows = detail::check_rows("add", *runtime_, vectors, dim_);
  return timed(*runtime_, "add", rows, [&] { return do_add(vectors, context); });
}

std::uint64_t Index::add(const MatrixView& vectors, const Context& context) {
  return add(ContiguousRows("add", vectors, dim_).rows(), context);
}

void Index::add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  context.check("add", runtime_->executor());
  detail::check_ids("add", detail::count_rows("add", vectors.size(), dim_), ids);
  detail::check_rows("add", *runtime_, vectors, dim_);
  timed(*runtime_, "add", ids.size(), [&] { do_add(ids, vectors, context); });
}

void Index::add(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context) {
  add(ids, ContiguousRows("add", vectors, dim_).rows(), context);
}

void Index::upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  context.check("upsert", runtime_->executor());
  detail::check_ids("upsert", detail::count_rows("upsert", vectors.size(), dim_), ids);
  detail::check_rows("upsert", *runtime_, vectors, dim_);
  timed(*runtime_, "upsert", ids.size(), [&] { do_upsert(ids, vectors, context); });
}

void Index::upsert(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context) {
  upsert(ids, ContiguousRows("upsert", vectors, dim_).rows(), context);
}

void Index::update(std::uint64_t id, std::span<const float> vector) {
  detail::check_one("update", vector.size(), dim_);
  detail::check_rows("update", *runtime_, vector, dim_);
  do_update(id, vector);
}

std::size_t Index::remove(std::span<const std::uint64_t> ids, const Context& context) {
  runtime_->check_fork("remove");
  context.check("remove", runtime_->executor());
  return timed(*runtime_, "remove", ids.size(), [&] { return do_remove(ids, context); });
}

SearchResult Index::search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  detail::check_rows("search", *runtime_, queries, dim_);
  check_search_options(options, has_beam(), kind());
  options.context.check("search", runtime_->executor());
  return do_search(queries, k, options);
}

SearchResult Index::search(const MatrixView& queries, std::size_t k, const SearchOptions& options) const {
  return search(ContiguousRows("search", queries, dim_).rows(), k, options);
}

SearchExplanation Index::search_into(std::span<const float> queries, std::size_t k, std::span<std::uint64_t> ids,
                                     std::span<double> distances, const SearchOptions& options) const {
  const std::size_t count = detail::count_rows("search_into", queries.size(), dim_);
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  if ((k > 0 && count > most / k) || ids.size() != count * k || distances.size() != count * k) {
    throw Error(ErrorCode::invalid_input, "search_into",
                fmt::format("{} queries with k = {} need arrays of {} * {} elements, but ids has {} and distances has "
                            "{}; pass arrays of that size",
                            count, k, count, k, ids.size(), distances.size()));
  }
  const SearchResult result = search(queries, k, options);
  for (std::size_t query = 0; query < count; ++query) {
    const std::span<const Hit> hits = result[query];
    for (std::size_t i = 0; i < k; ++i) {
      ids[query * k + i] = i < hits.size() ? hits[i].id : missing_id;
      distances[query * k + i] = i < hits.size() ? hits[i].distance : std::numeric_limits<double>::infinity();
    }
  }
  return result.explanation();
}

SearchExplanation Index::search_into(const MatrixView& queries, std::size_t k, std::span<std::uint64_t> ids,
                                     std::span<double> distances, const SearchOptions& options) const {
  return search_into(ContiguousRows("search_into", queries, dim_).rows(), k, ids, distances, options);
}

void Index::set_precision(Precision precision, const Context& context) {
  detail::check_precision("set_precision", precision);
  timed_on_all(*this, *runtime_, "set_precision", context, [&] { do_set_precision(precision, context); });
}

void Index::compact(const Context& context) {
  timed_on_all(*this, *runtime_, "compact", context, [&] { do_compact(context); });
}

void Index::drop_full_precision(const Context& context) {
  timed_on_all(*this, *runtime_, "drop_full_precision", context, [&] { do_drop_full_precision(context); });
}

void Index::drop_full_precision(Precision precision, const Context& context) {
  const Precision before = this->precision();
  set_precision(precision, context);
  try {
    drop_full_precision(context);
  } catch (...) {
    try {
      set_precision(before);
    } catch (const Error&) {  // memory is exhausted: the first error says so
    }
    throw;
  }
}

void Index::save(ByteWriter& writer, const Context& context) const {
  timed_on_all(*this, *runtime_, "save", context, [&] { do_save(writer, context); });
}

void Index::save(const std::string& path, const Context& context) const {
  AtomicFileWriter file(path);
  save(file, context);
  file.commit();
}

}  // namespace vectis::inline v0_1
