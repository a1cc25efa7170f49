// Computes recorded operations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "array/element_map.hpp"
#include "array/fusion.hpp"
#include "array/lane.hpp"
#include "array/node.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::array {

// One evaluation, which the nodes that it computes refer to.
struct Batch {
  std::mutex running;            // held by the thread that computes; others that need one of the nodes wait for it
  const Batch* outer = nullptr;  // of the same thread, whose observer started this one
};

// The observer of an evaluation while it runs.
class Observation {
 public:
  explicit Observation(EvaluationObserver* observer) noexcept
      : observer_(observer), begun_(observer == nullptr ? nullptr : observer->begin()) {}
  ~Observation() {
    if (observer_ != nullptr) observer_->end(begun_);
  }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  void step() const {
    if (observer_ != nullptr) observer_->step(begun_);
  }

 private:
  EvaluationObserver* observer_;
  void* begun_;
};

// The service of a Runtime that computes arrays. Thread-safe.
class Engine {
 public:
  explicit Engine(Runtime& runtime);

  // Returns the lane of a device, by default of the CPU.
  Lane& lane(const std::optional<Device>& device);
  // Computes the nodes that are not computed yet. A failed call leaves the rest to a later one. Throws what computing
  // throws.
  void evaluate(std::span<const Tensor> roots);

  // Calls `visit` with each step that evaluate() would compute, in order and under the lock of all nodes.
  void visit_steps(std::span<const Tensor> roots, const std::function<void(const Step&)>& visit);
  // Sets what is called around evaluations; null: nothing. Not while one runs.
  void set_observer(EvaluationObserver* observer) noexcept { observer_ = observer; }

  [[nodiscard]] ElementMaps& element_maps() noexcept { return element_maps_; }
  // Returns the number of a new node.
  std::uint64_t next_number() noexcept { return ++numbers_; }
  // Returns the number of the node made last.
  [[nodiscard]] std::uint64_t last_number() const noexcept { return numbers_; }
  // Takes inputs and primitive away from a computed node, to be destroyed without a lock.
  [[nodiscard]] Origin take_origin(Node& node);
  // Keeps nodes from losing their inputs while it is held.
  [[nodiscard]] std::unique_lock<std::mutex> lock_nodes() { return std::unique_lock(mutex_); }

 private:
  std::unique_lock<std::mutex> collect_idle(std::span<const Tensor> roots, std::vector<Node*>& order);
  std::shared_ptr<Batch> collect(std::span<const Tensor> roots, std::vector<Node*>& order);
  void compute_older(const DryRun& run, std::span<const Tensor> roots);
  void run(std::span<const Step> steps, const Observation& observation);
  void finish(std::span<const std::shared_ptr<Node>> computed, std::span<Node* const> members);

  Runtime& runtime_;
  std::mutex mutex_;  // guards lanes_, and of all nodes `batch`, `mark` and inputs that an evaluation reads
  std::vector<std::unique_ptr<Lane>> lanes_;
  Lane* cpu_ = nullptr;  // of lanes_, once it was asked for
  std::uint64_t collections_ = 0;
  std::atomic<std::uint64_t> numbers_ = 0;
  EvaluationObserver* observer_ = nullptr;
  ElementMaps element_maps_;
};

// Returns the lane of a device of any Runtime.
Lane& lane_of(const Device& device);

}  // namespace vectis::inline v0_1::array
