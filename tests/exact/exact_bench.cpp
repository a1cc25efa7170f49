// An index driven line by line, so that ./dev bench exact and ann can measure peers in turns. A line is a command and
// words `name=value`; each is answered with one line of JSON, {"error": ...} when it failed.
//
//   corpus file=F dim=D rows=N            reads N rows of D floats
//   queries file=F dim=D rows=N           likewise; without a dimension, that of the corpus
//   threads count=T                       from now on; drops the index
//   add kind=K precision=P metric=M       makes the index of the first `rows` rows: milliseconds until it can search;
//                                         without a precision it has the index's own, without a metric it is l2
//   insert first=F rows=N step=S          adds rows of the corpus, S at a call, all without it; their ids are their
//                                         places there. `calls` has the CPU milliseconds of each call
//   remove ids=F step=S                   those of the file, likewise
//   upsert first=F rows=N ids=F           stores rows of the corpus under the ids of the file
//   save file=F, load file=F              the index
//   statistics                            of the index
//   search queries=N batch=B k=K ids=F    N queries, B at a call; the ids found are written to F when it is given.
//                                         recall=R asks an approximate index for it, first=N leaves out N queries
//   filtered filters=F words=W after=0|1  likewise, one query at a call until budget_ms have passed, each with its own
//                                         W words of the file, and queries with fewer than k hits filled up with the
//                                         largest id. after=1: the filter is applied to what is found without it, of
//                                         as many as it takes
//   concurrent threads=T budget_ms=M k=K  single queries by T threads at once until M milliseconds have passed: queries
//                                         per second of all threads
//   drop what=corpus|index|fp32           gives the memory back; fp32: of the vectors, so that only codes are left
//   peaks                                 gigabytes a second read by all threads, AMX int8 operations of one thread
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/exact/peaks.hpp"
#include "vectis/base.hpp"
#include "vectis/base/file.hpp"
#include "vectis/base/pages.hpp"
#include "vectis/base/time.hpp"
#include "vectis/search/index.hpp"

namespace bench {

using Json = nlohmann::ordered_json;
using vectis::Error;
using vectis::ErrorCode;

// CPU time of all threads: on a shared machine more stable than wall-clock time.
double processor_milliseconds() { return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC; }

double milliseconds_since(std::uint64_t start) {
  return static_cast<double>(vectis::monotonic_nanoseconds() - start) * 1e-6;
}

class Words {
 public:
  explicit Words(std::istringstream& line) {
    for (std::string word; line >> word;) {
      const auto equals = word.find('=');
      values_[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
  }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise = "") const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  [[nodiscard]] std::size_t number(const std::string& name, std::size_t otherwise = 0) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::stoull(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

// Rows of floats out of a file that holds nothing else.
struct Rows {
  vectis::Pages pages;
  std::size_t dim = 0;
  std::size_t count = 0;

  void read(const std::string& path, std::size_t dim_now, std::size_t rows) {
    const std::size_t bytes = dim_now * rows * sizeof(float);
    std::ifstream file(path, std::ios::binary);
    vectis::Pages target(bytes);
    if (!file.read(target.as<char>(), static_cast<std::streamsize>(bytes))) {
      throw Error(ErrorCode::io, "bench", fmt::format("{} has not {} bytes", path, bytes));
    }
    pages = std::move(target);
    dim = dim_now;
    count = rows;
  }
  [[nodiscard]] std::span<const float> some(std::size_t first, std::size_t rows) const {
    return {pages.as<float>() + first * dim, rows * dim};
  }
};

std::unique_ptr<vectis::Runtime> runtime_with(std::size_t threads) {
  vectis::RuntimeOptions options;
  options.threads = threads;
  return std::make_unique<vectis::Runtime>(std::move(options));
}

vectis::Precision precision_of(const std::string& text) {
  for (const auto precision :
       {vectis::Precision::fp32, vectis::Precision::fp16, vectis::Precision::bf16, vectis::Precision::int8}) {
    if (text == name(precision)) return precision;
  }
  throw Error(ErrorCode::invalid_input, "bench", fmt::format("no precision '{}'", text));
}

// Numbers out of a file that holds nothing else.
std::vector<std::uint64_t> read_words(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error(ErrorCode::io, "bench", fmt::format("{} cannot be read", path));
  std::vector<std::uint64_t> words(static_cast<std::size_t>(file.tellg()) / sizeof(std::uint64_t));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(words.size() * sizeof(words[0])));
  return words;
}

// What is allowed among the nearest of all, of twice as many until it is enough.
std::vector<vectis::Hit> filtered_afterwards(const vectis::Index& index, std::span<const float> query, std::size_t k,
                                             vectis::SearchOptions options) {
  const vectis::IdFilter filter = *std::exchange(options.filter, std::nullopt);
  const auto allowed = static_cast<std::size_t>(filter.count_max().value());
  const std::size_t live = index.size();
  // As many as it would take if the filter had nothing to do with the query.
  std::size_t wanted = std::min(live, k * live / std::max<std::size_t>(allowed, 1) + k);
  while (true) {
    const vectis::SearchResult found = index.search(query, wanted, options);
    std::vector<vectis::Hit> hits;
    for (const vectis::Hit& hit : found[0]) {
      if (hits.size() < k && filter.allows(hit.id)) hits.push_back(hit);
    }
    if (hits.size() >= k || wanted == live) return hits;
    wanted = std::min(live, wanted * 2);
  }
}

class Bench {
 public:
  Json run(const std::string& command, const Words& words) {
    if (command == "corpus") return read_corpus(words);
    if (command == "queries") return read_queries(words);
    if (command == "threads") return set_threads(words);
    if (command == "add") return add(words);
    if (command == "insert") return insert(words);
    if (command == "remove") return remove(words);
    if (command == "upsert") return upsert(words);
    if (command == "save") return save(words);
    if (command == "load") return load(words);
    if (command == "statistics") return statistics();
    if (command == "search") return search(words);
    if (command == "concurrent") return concurrent(words);
    if (command == "filtered") return filtered(words);
    if (command == "drop") return drop(words);
    if (command == "peaks") {
      return {{"gigabytes_per_second", read_bandwidth(runtime_->executor())}, {"amx_int8_gops", amx_int8_peak()}};
    }
    throw Error(ErrorCode::invalid_input, "bench", fmt::format("no command '{}'", command));
  }

 private:
  Json read_corpus(const Words& words) {
    index_.reset();
    corpus_.read(words.text("file"), words.number("dim"), words.number("rows"));
    return {{"rows", corpus_.count}};
  }
  Json read_queries(const Words& words) {
    queries_.read(words.text("file"), words.number("dim", corpus_.dim), words.number("rows"));
    return {{"rows", queries_.count}};
  }
  Json set_threads(const Words& words) {
    index_.reset();
    runtime_.reset();
    runtime_ = runtime_with(words.number("count", 1));
    return {{"threads", runtime_->executor().concurrency()}};
  }
  Json add(const Words& words) {
    if (corpus_.pages.data() == nullptr) throw Error(ErrorCode::invalid_input, "bench", "there is no corpus to add");
    index_.reset();
    const double processor = processor_milliseconds();
    const std::uint64_t start = vectis::monotonic_nanoseconds();
    const auto metric = vectis::parse_metric(words.text("metric", "l2"));
    if (!metric) throw Error(ErrorCode::invalid_input, "bench", fmt::format("no metric '{}'", words.text("metric")));
    index_ = vectis::make_index(words.text("kind", "flat"), corpus_.dim, *metric, {.runtime = runtime_.get()});
    if (!words.text("precision").empty()) index_->set_precision(precision_of(words.text("precision")));
    index_->add(corpus_.some(0, words.number("rows", corpus_.count)));
    Json reply = taken(start, processor);
    reply.update(statistics());
    return reply;
  }
  Json insert(const Words& words) {
    std::vector<std::uint64_t> ids(words.number("rows"));
    std::iota(ids.begin(), ids.end(), words.number("first"));
    return change(words, ids, [&](std::span<const std::uint64_t> some) {
      made().add(some, corpus_.some(some.front(), some.size()));
    });
  }
  Json remove(const Words& words) {
    std::size_t removed = 0;
    Json reply = change(words, read_words(words.text("ids")),
                        [&](std::span<const std::uint64_t> some) { removed += made().remove(some); });
    reply["removed"] = removed;
    return reply;
  }
  Json upsert(const Words& words) {
    const std::span<const float> rows = corpus_.some(words.number("first"), words.number("rows"));
    return change(words, read_words(words.text("ids")),
                  [&](std::span<const std::uint64_t> all) { made().upsert(all, rows); });
  }
  // Calls `apply` with `step` ids at a time and measures every call.
  template <class Apply>
  static Json change(const Words& words, const std::vector<std::uint64_t>& ids, const Apply& apply) {
    const std::size_t step = std::max<std::size_t>(words.number("step", ids.size()), 1);
    std::vector<double> calls;
    calls.reserve(ids.size() / step + 1);
    const double processor = processor_milliseconds();
    const std::uint64_t start = vectis::monotonic_nanoseconds();
    for (std::size_t first = 0; first < ids.size(); first += step) {
      const double before = processor_milliseconds();
      apply(std::span(ids).subspan(first, std::min(step, ids.size() - first)));
      calls.push_back(processor_milliseconds() - before);
    }
    Json reply = taken(start, processor);
    reply["calls"] = calls;
    return reply;
  }
  Json save(const Words& words) {
    vectis::FileWriter writer(words.text("file"));
    made().save(writer);
    writer.finish();
    return Json::object();
  }
  Json load(const Words& words) {
    index_.reset();
    vectis::FileReader reader(words.text("file"));
    index_ = vectis::load_index(reader, {.runtime = runtime_.get()});
    return statistics();
  }
  Json statistics() {
    const vectis::IndexStatistics now = made().statistics();
    return {{"bytes", now.bytes},
            {"bytes_per_vector", now.bytes_per_vector},
            {"vectors", now.vectors},
            {"explained", index_->explain()}};
  }
  static Json taken(std::uint64_t start, double processor) {
    return {{"ms", milliseconds_since(start)}, {"processor_ms", processor_milliseconds() - processor}};
  }
  vectis::Index& made() {
    if (index_ == nullptr) throw Error(ErrorCode::invalid_input, "bench", "add comes before everything else");
    return *index_;
  }
  Json filtered(const Words& words) {
    const std::vector<std::uint64_t> bits = read_words(words.text("filters"));
    const std::size_t each = words.number("words");
    const std::size_t skipped = words.number("first");
    const std::size_t k = words.number("k", 10);
    vectis::SearchOptions options;
    if (!words.text("recall").empty()) options.recall = std::stod(words.text("recall"));
    std::vector<std::uint64_t> ids;
    std::map<std::string, std::size_t> kernels;
    const double processor = processor_milliseconds();
    const std::uint64_t start = vectis::monotonic_nanoseconds();
    const double budget = std::stod(words.text("budget_ms", "1e12"));
    std::size_t done = 0;
    for (; (done + 1) * each <= bits.size() && milliseconds_since(start) < budget; ++done) {
      const auto query = queries_.some(skipped + done, 1);
      options.filter = vectis::IdFilter::bitmap(std::span(bits).subspan(done * each, each));
      std::vector<vectis::Hit> hits;
      if (words.number("after") == 1) {
        hits = filtered_afterwards(made(), query, k, options);
      } else {
        const vectis::SearchResult found = made().search(query, k, options);
        hits.assign(found[0].begin(), found[0].end());
        ++kernels[found.explanation().kernel];
      }
      for (const vectis::Hit& hit : hits) ids.push_back(hit.id);
      ids.resize((done + 1) * k, ~std::uint64_t{0});
    }
    Json reply = taken(start, processor);
    write_ids(words.text("ids"), ids);
    reply["done"] = done;
    reply["kernels"] = kernels;
    return reply;
  }
  Json search(const Words& words) {
    const std::size_t skipped = words.number("first");
    const std::size_t all = words.number("queries", queries_.count - skipped);
    vectis::SearchOptions options;
    if (!words.text("recall").empty()) options.recall = std::stod(words.text("recall"));
    const std::size_t batch = words.number("batch", all);
    std::vector<std::uint64_t> ids;
    std::uint64_t reranked = 0;
    std::uint64_t scored = 0;
    std::string kernel;
    std::vector<double> calls;
    const double processor = processor_milliseconds();
    for (std::size_t first = 0; first < all; first += batch) {
      const std::size_t count = std::min(batch, all - first);
      const std::uint64_t start = vectis::monotonic_nanoseconds();
      const vectis::SearchResult found =
          made().search(queries_.some(skipped + first, count), words.number("k", 10), options);
      calls.push_back(milliseconds_since(start));
      reranked += found.explanation().reranked;
      scored += found.explanation().rows_scanned;
      kernel = found.explanation().kernel;
      for (std::size_t query = 0; query < count; ++query) {
        for (const vectis::Hit& hit : found[query]) ids.push_back(hit.id);
      }
    }
    write_ids(words.text("ids"), ids);
    return {{"ms", std::accumulate(calls.begin(), calls.end(), 0.0)},
            {"processor_ms", processor_milliseconds() - processor},
            {"calls", calls},
            {"kernel", kernel},
            {"bytes_per_vector", index_->statistics().scanned_bytes_per_vector},
            {"scored", scored},
            {"reranked_per_query", static_cast<double>(reranked) / static_cast<double>(all)}};
  }
  Json concurrent(const Words& words) {
    const std::size_t k = words.number("k", 10);
    const std::size_t count = words.number("threads", 1);
    const double budget = std::stod(words.text("budget_ms", "1000"));
    const vectis::Index& index = made();
    std::vector<std::future<std::size_t>> threads;
    const std::uint64_t start = vectis::monotonic_nanoseconds();
    for (std::size_t thread = 0; thread < count; ++thread) {
      threads.push_back(std::async(std::launch::async, [&, thread] {
        std::size_t done = 0;
        while (milliseconds_since(start) < budget) {
          const std::size_t query = (thread * queries_.count / count + done) % queries_.count;
          if (index.search(queries_.some(query, 1), k)[0].empty()) {
            throw Error(ErrorCode::invalid_input, "bench", "the index is empty");
          }
          ++done;
        }
        return done;
      }));
    }
    std::size_t all = 0;
    for (auto& thread : threads) all += thread.get();
    return {{"queries", all}, {"queries_per_second", 1e3 * static_cast<double>(all) / milliseconds_since(start)}};
  }
  static void write_ids(const std::string& path, const std::vector<std::uint64_t>& ids) {
    if (path.empty()) return;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(ids.data()), static_cast<std::streamsize>(ids.size() * sizeof(ids[0])));
    if (!file.flush()) throw Error(ErrorCode::io, "bench", fmt::format("{} cannot be written", path));
  }
  Json drop(const Words& words) {
    if (words.text("what") == "corpus") corpus_.pages = {};
    if (words.text("what") == "index") index_.reset();
    if (words.text("what") == "fp32") made().drop_full_precision();
    return Json::object();
  }

  Rows corpus_;
  Rows queries_;
  std::unique_ptr<vectis::Runtime> runtime_ = runtime_with(1);
  std::unique_ptr<vectis::Index> index_;  // goes before its runtime
};

}  // namespace bench

int main() {
  bench::Bench bench;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::string command;
    if (!(line >> command)) continue;
    try {
      std::cout << bench.run(command, bench::Words(line)).dump() << std::endl;
    } catch (const std::exception& error) {
      std::cout << bench::Json{{"error", error.what()}}.dump() << std::endl;
    }
  }
  return 0;
}
