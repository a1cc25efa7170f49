#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/commands.hpp"
#include "vectis/device.hpp"
#include "vectis/search/index.hpp"
#include "vectis/search/sample_vectors.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t rounds = 5;
constexpr std::size_t single_queries = 20;
constexpr std::size_t checked_queries = 3;

double milliseconds(const std::function<void()>& work) {
  const std::uint64_t start = monotonic_nanoseconds();
  work();
  return static_cast<double>(monotonic_nanoseconds() - start) * 1e-6;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Counts how many of the first `checked_queries` queries got other hits than brute force in double precision.
std::size_t wrong_answers(const std::vector<float>& corpus, const std::vector<float>& queries, std::size_t dim,
                          std::size_t k, const SearchResult& found) {
  std::size_t wrong = 0;
  for (std::size_t query = 0; query < std::min(checked_queries, found.queries()); ++query) {
    std::vector<Hit> hits;
    hits.reserve(corpus.size() / dim);
    for (std::size_t row = 0; row < corpus.size() / dim; ++row) {
      hits.push_back({row, exact_distance(Metric::l2, std::span(queries).subspan(query * dim, dim),
                                          std::span(corpus).subspan(row * dim, dim))});
    }
    const std::size_t kept = std::min(k, hits.size());
    const auto nearer = [](const Hit& a, const Hit& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
    };
    std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end(), nearer);
    hits.resize(kept);
    if (!std::ranges::equal(hits, found[query])) ++wrong;
  }
  return wrong;
}

Precision precision_of(const std::string& text) {
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    if (text == name(precision)) return precision;
  }
  throw Error(ErrorCode::invalid_input, "bench exact",
              fmt::format("unknown precision '{}'; use fp32, fp16, bf16 or int8", text));
}

// Makes an index on the device that the user named. A device other than the CPU becomes the thread's active device.
std::unique_ptr<Index> index_on(Runtime& runtime, const std::string& device, std::size_t dim) {
  if (device == "auto" || device == "gpu") {
    return make_index(device, dim, Metric::l2, {.recall = 1.0, .runtime = &runtime});
  }
  const Device chosen = choose_device(runtime, DeviceRequest{.device = device}).device;
  if (chosen.backend() == "cpu") return make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  set_active_device(chosen.id(), runtime);
  return make_index("gpu", dim, Metric::l2, {.runtime = &runtime});
}

// Throws InvalidInput when `what`, of `needed` bytes, exceeds the memory of the host; `remedy` is what to use instead.
void check_bytes(Runtime& runtime, std::string_view op, double needed, std::string_view what, std::string_view remedy) {
  const auto total = static_cast<double>(runtime.os().memory_total_bytes());
  if (total == 0 || needed <= total) return;
  constexpr double gibibyte = 1U << 30;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("{} need {:.1f} GiB, this host has {:.1f} GiB; use {}", what, needed / gibibyte,
                          total / gibibyte, remedy));
}

void print_report(std::ostream& out, const Json& report) {
  std::vector<Row> rows = {{"measure", "value"}};
  for (const auto& [key, value] : report.items()) {
    std::string text = value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                       : value.is_string()     ? value.get<std::string>()
                                               : value.dump();
    rows.push_back({key, std::move(text)});
  }
  print_table(out, rows, Columns::text);
}

}  // namespace

void check_host_memory(Runtime& runtime, std::string_view op, std::uint64_t vectors, std::uint64_t dim) {
  check_bytes(runtime, op, 2 * static_cast<double>(vectors) * static_cast<double>(dim) * sizeof(float),
              fmt::format("{} vectors of {} floats and the index over them", vectors, dim),
              "fewer vectors or dimensions");
}

int bench_exact(Runtime& runtime, std::ostream& out, const ExactArguments& arguments, bool json) {
  const std::size_t dim = arguments.dim;
  const Precision precision = precision_of(arguments.precision);
  check_host_memory(runtime, "bench exact", arguments.rows, dim);
  check_host_memory(runtime, "bench exact", arguments.queries, dim);
  const std::size_t hits = std::min(arguments.k, arguments.rows);
  // Twice: a search merges the candidates of several threads into its result.
  check_bytes(runtime, "bench exact",
              2 * static_cast<double>(arguments.queries) * static_cast<double>(hits) * sizeof(Hit),
              fmt::format("{} hits for each of {} queries", hits, arguments.queries), "a smaller --k or fewer queries");
  const std::unique_ptr<Index> index = index_on(runtime, arguments.device, dim);
  index->set_precision(precision);
  SampleVectors data(arguments.seed, dim);
  const std::vector<float> corpus = data.draw(arguments.rows);
  const std::vector<float> queries = data.draw(arguments.queries);

  const double add = milliseconds([&] { index->add(corpus); });
  SearchResult found;
  std::vector<double> batches;
  batches.reserve(rounds);
  std::vector<double> singles;
  const double first = milliseconds([&] { found = index->search(std::span(queries).first(dim), arguments.k); });
  for (std::size_t round = 0; round < rounds; ++round) {
    batches.push_back(milliseconds([&] { found = index->search(queries, arguments.k); }));
  }
  for (std::size_t query = 0; query < std::min(single_queries, arguments.queries); ++query) {
    const std::span<const float> one = std::span(queries).subspan(query * dim, dim);
    singles.push_back(milliseconds([&] { static_cast<void>(index->search(one, arguments.k)); }));
  }
  const std::size_t wrong = wrong_answers(corpus, queries, dim, arguments.k, found);
  const SearchExplanation& how = found.explanation();
  const IndexStatistics statistics = index->statistics();
  const auto asked = static_cast<double>(arguments.queries);
  const Json report = {
      {"device", how.device},
      {"kernel", how.kernel},
      {"reason", how.reason},
      {"precision", name(how.precision)},
      {"threads", runtime.executor().concurrency()},
      {"rows", arguments.rows},
      {"dim", dim},
      {"queries", arguments.queries},
      {"k", arguments.k},
      {"bytes_per_vector", statistics.bytes_per_vector},
      {"scanned_bytes_per_vector", statistics.scanned_bytes_per_vector},
      {"add_ms", add},
      {"first_query_ms", first},
      {"single_query_ms", median(singles)},
      {"batch_ms", median(batches)},
      {"queries_per_second", asked * 1000 / median(batches)},
      {"reranked_per_query", static_cast<double>(how.reranked) / asked},
      {"checked_queries", std::min(checked_queries, arguments.queries)},
      {"wrong_answers", wrong},
  };
  if (json) {
    fmt::print(out, "{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_report(out, report);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace vectis::app
