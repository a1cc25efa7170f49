// An index that is exact while that is quick, and has a graph beside it from the size on where one pays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/exact/exact_index.hpp"
#include "vectis/plan/workload.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1 {

inline constexpr std::string_view auto_mark = "VECTISAU";  // the first bytes of one with a graph

// When a graph is built.
struct AutoRules {
  // So few are scanned faster than anybody could notice: nothing is predicted for them, and half as many lose theirs.
  std::size_t rows_min = 10'000;
  double gain_min = 3;           // how many times as fast as the best exact way it must answer a query
  double payback_max = 200'000;  // how many queries at most may pay for building it
  double growth = 1.25;          // it is thought of again when there are this many times as many vectors
};

// The exact index has every vector and is the truth; the graph, where there is one, has the same. Every search that may
// miss something goes to whichever is predicted to be quicker. Thread-safe.
class AutoIndex final : public Index {
 public:
  // `graph` may be missing. Searches that name no recall ask for `recall`, which is below 1.
  AutoIndex(Runtime& runtime, std::unique_ptr<exact::ExactIndex> exact, std::shared_ptr<Index> graph, double recall,
            AutoRules rules = {});

  [[nodiscard]] std::string_view kind() const noexcept override { return exact_->kind(); }
  [[nodiscard]] std::size_t dim() const noexcept override { return exact_->dim(); }
  [[nodiscard]] Metric distance() const noexcept override { return exact_->distance(); }
  [[nodiscard]] std::size_t size() const override { return exact_->size(); }

  std::uint64_t add(std::span<const float> vectors) override;
  void add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) override;
  std::size_t remove(std::span<const std::uint64_t> ids) override;
  void update(std::uint64_t id, std::span<const float> vector) override;
  void upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) override;
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override { return exact_->get(id); }

  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options) const override;

  void set_precision(Precision precision) override;
  [[nodiscard]] Precision precision() const override { return exact_->precision(); }
  void compact() override;

  [[nodiscard]] IndexStatistics statistics() const override;
  [[nodiscard]] IndexDevices devices() const override { return exact_->devices(); }
  [[nodiscard]] std::string explain(std::size_t queries, std::size_t k) const override;
  void save(ByteWriter& writer) const override;

 private:
  [[nodiscard]] std::shared_ptr<Index> graph() const;
  void set_graph(std::shared_ptr<Index> graph, std::string reason);
  // The exact ways, this processor first, and the graph as the last.
  [[nodiscard]] std::vector<Placement> ways(std::size_t queries, std::size_t k, double recall) const;
  // Whether a graph of what is there would pay, in numbers.
  struct Judgement {
    bool pays = false;
    std::string text;
  };
  [[nodiscard]] Judgement judge() const;
  void build(std::string reason);
  // Does to the graph what was done to the exact index, or builds it, or drops it.
  void follow(const std::function<void(Index&)>& change);

  Runtime& runtime_;
  std::unique_ptr<exact::ExactIndex> exact_;
  const double recall_;
  const AutoRules rules_;
  mutable std::mutex writer_;      // held through a change
  std::size_t judged_ = 0;         // vectors there were when a graph was thought of last; the writer's
  mutable std::mutex graph_lock_;  // held while these are copied
  std::shared_ptr<Index> graph_;
  std::string reason_;  // why there is a graph, or none
};

// Reads what follows the mark; the exact index and the graph follow it, each with its own.
void read_auto_header(ByteReader& reader);

}  // namespace vectis::inline v0_1
