// Computes recorded operations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "array/element_map.hpp"
#include "array/fusion.hpp"
#include "array/node.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::array {

class Engine;

// A device as arrays use it. Lives as long as the engine. Thread-safe.
class Lane {
 public:
  Lane(Engine& engine, Runtime& runtime, Device device);

  [[nodiscard]] Engine& engine() const noexcept { return engine_; }
  [[nodiscard]] Runtime& runtime() const noexcept { return runtime_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] Executor& executor() const noexcept { return runtime_.executor(); }

  // Returns memory for `bytes` bytes with undefined content. Throws Allocation when memory is short.
  [[nodiscard]] std::shared_ptr<Storage> allocate(std::uint64_t bytes) const;
  // Allocates the storage of `node`, contiguous. Throws Allocation when memory is short.
  void allocate(Node& node) const;

  // Runs a named operation of the kernel layer on views of host memory, one call at a time, and waits for it.
  void run_operation(std::string_view name, std::span<const View> views, std::span<const ParameterValue> parameters);

 private:
  Engine& engine_;
  Runtime& runtime_;
  Device device_;
  MemoryPool& pool_;
  std::mutex mutex_;  // guards stream_
  std::unique_ptr<Stream> stream_;
};

// One evaluation, which the nodes that it computes refer to.
struct Batch {
  std::mutex running;  // held by the thread that computes; others that need one of the nodes wait for it
};

// The service of a Runtime that computes arrays. Thread-safe.
class Engine {
 public:
  explicit Engine(Runtime& runtime);

  // Returns the lane of a device, by default of the CPU. Throws Unsupported for devices that arrays do not run on.
  Lane& lane(const std::optional<Device>& device);
  // Computes the nodes that are not computed yet. A failed call leaves the rest to a later one. Throws what computing
  // throws.
  void evaluate(std::span<const Tensor> roots);

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
  std::shared_ptr<Batch> collect(std::span<const Tensor> roots, std::vector<Node*>& order);
  void run(std::span<const Step> steps);
  void finish(std::span<const std::shared_ptr<Node>> computed, std::span<Node* const> members);

  Runtime& runtime_;
  std::mutex mutex_;  // guards lanes_, and of all nodes `batch`, `mark` and inputs that an evaluation reads
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::uint64_t collections_ = 0;
  std::atomic<std::uint64_t> numbers_ = 0;
  ElementMaps element_maps_;
};

}  // namespace vectis::inline v0_1::array
