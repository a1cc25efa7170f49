#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "search/exact/host_search.hpp"
#include "search/exact/searcher.hpp"

namespace vectis::inline v0_1::exact {

namespace {

class HostSearcher final : public Searcher {
 public:
  HostSearcher(Executor& executor, std::string reason) : executor_(executor), reason_(std::move(reason)) {}

  [[nodiscard]] ExactAnswer search(const SearchTask& task) const override {
    HostSearchAnswer found = host_search(executor_, task);
    ExactAnswer answer;
    answer.hits = std::move(found.hits);
    answer.explanation.device = "cpu";
    answer.explanation.way = std::move(found.way);
    answer.explanation.reason = reason_;
    answer.explanation.rows_scanned = found.rows_scanned;
    answer.explanation.survivors = found.survivors;
    return answer;
  }

  [[nodiscard]] std::string explain(const SearchTask& task, std::size_t queries) const override {
    return fmt::format("a search of {} for the {} nearest: cpu, {} threads, the first fit of {}; {}\n",
                       queries == 1 ? "one query" : fmt::format("{} queries", queries), task.k, executor_.concurrency(),
                       fmt::join(host_ways(task.precision), ", "), reason_);
  }

  [[nodiscard]] IndexDevices devices() const override { return {{}, reason_}; }

 private:
  Executor& executor_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Searcher> make_host_searcher(Executor& executor, std::string reason) {
  return std::make_unique<HostSearcher>(executor, std::move(reason));
}

}  // namespace vectis::inline v0_1::exact
