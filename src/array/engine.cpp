#include "array/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "array/device_kernel.hpp"
#include "array/dry_run.hpp"
#include "device/cores.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::array {

namespace {

thread_local const Batch* innermost = nullptr;  // evaluation that this thread runs

// Registers an evaluation as one that this thread runs, while it exists.
class OwnBatch {
 public:
  explicit OwnBatch(Batch& batch) noexcept { batch.outer = std::exchange(innermost, &batch); }
  ~OwnBatch() { innermost = innermost->outer; }
  OwnBatch(const OwnBatch&) = delete;
  OwnBatch& operator=(const OwnBatch&) = delete;
};

// Throws InvalidInput when this thread runs the evaluation, for which it would wait forever.
void check_other_thread(const Batch& batch) {
  for (const Batch* own = innermost; own != nullptr; own = own->outer) {
    if (own != &batch) continue;
    throw Error(ErrorCode::invalid_input, "eval",
                "this thread computes the array already, and runs a signal handler or observer meanwhile, which needs "
                "its value; use it after the evaluation");
  }
}

// What names a node in messages, for as long as another thread may compute the node, which then loses it.
struct FailedOperation {
  explicit FailedOperation(const Node& node) noexcept
      : primitive(node.primitive), where(node.where), settings(&node.lane->runtime().settings()) {}
  std::shared_ptr<const Primitive> primitive;
  std::source_location where;
  const Settings* settings;
};

// Throws the exception that is handled now again, so that an Error names the operation and, with the setting `debug`,
// where the program called it.
[[noreturn]] void rethrow(const FailedOperation& failed) {
  std::string op(failed.primitive->name());
  if (failed.settings->flag("debug") && failed.where.line() != 0) {
    op += fmt::format(", recorded at {}:{}", failed.where.file_name(), failed.where.line());
  }
  try {
    throw;
  } catch (const OutOfMemoryError& error) {
    throw OutOfMemoryError(op, error.report());
  } catch (const Error& error) {
    if (error.op() == op) throw;
    throw Error(error.code(), op, error.what(), error.detail());
  }
}

void compute(Node& node) {
  if (DryRun* const run = DryRun::current()) return run->compute(node);
  const Primitive& primitive = *node.primitive;
  if (node.lane->is_host()) return primitive.compute(node);
  if (primitive.runs_on_device(node)) return primitive.compute_on_device(node);
  compute_by_host(primitive, node);
}

void compute_group(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs) {
  if (DryRun* const run = DryRun::current()) return run->compute_map(members, outputs);
  if (outputs.front()->lane->is_host()) return compute_map(members, outputs);
  compute_map_on_device(members, outputs);
}

}  // namespace

Engine::Engine(Runtime& runtime) : runtime_(runtime) {}

Lane& lane_of(const Device& device) { return device.core()->backend->runtime.service<Engine>().lane(device); }

Lane& Engine::lane(const std::optional<Device>& device) {
  const std::scoped_lock lock(mutex_);
  if (!device && cpu_ != nullptr) return *cpu_;
  const auto& registry = runtime_.service<DeviceRegistry>();
  const Device chosen = device ? *device : registry.find("cpu").value();
  const auto found = std::ranges::find_if(lanes_, [&](const auto& lane) { return lane->device().id() == chosen.id(); });
  Lane& lane = found != lanes_.end() ? **found : *lanes_.emplace_back(std::make_unique<Lane>(*this, runtime_, chosen));
  if (!device) cpu_ = &lane;
  return lane;
}

void Engine::evaluate(std::span<const Tensor> roots) {
  if (const DryRun* const run = DryRun::current()) compute_older(*run, roots);
  const Observation observation(observer_);
  auto batch = std::make_shared<Batch>();
  const std::unique_lock running(batch->running);
  const OwnBatch own(*batch);
  std::vector<Node*> order;
  std::unique_lock lock = collect_idle(roots, order);
  const std::vector<Step> steps = make_steps(order);
  for (Node* const node : order) node->batch = batch;
  lock.unlock();
  run(steps, observation);
}

// Computes what the program recorded before the dry run, since it needs the values afterwards.
void Engine::compute_older(const DryRun& run, std::span<const Tensor> roots) {
  std::vector<Tensor> older;
  {
    std::vector<Node*> order;
    const std::unique_lock lock = collect_idle(roots, order);
    for (Node* const node : order) {
      if (run.is_older(*node)) older.emplace_back(node->shared_from_this());
    }
  }
  if (older.empty()) return;
  const DryRun::Pause pause;
  evaluate(older);
}

void Engine::visit_steps(std::span<const Tensor> roots, const std::function<void(const Step&)>& visit) {
  std::vector<Node*> order;
  const std::unique_lock lock = collect_idle(roots, order);
  for (const Step& step : make_steps(order)) visit(step);
}

// Lists the nodes to compute when no evaluation computes one of them any more, and returns the lock of all nodes.
std::unique_lock<std::mutex> Engine::collect_idle(std::span<const Tensor> roots, std::vector<Node*>& order) {
  while (true) {
    order.clear();
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Batch> other = collect(roots, order);
    if (!other) return lock;
    lock.unlock();
    check_other_thread(*other);
    const std::scoped_lock wait(other->running);
  }
}

void Primitive::dry_run(Node& node, DryRun& run) const {
  run.allocate(node);
  if (!node.lane->is_host() || node.elements() == 0) return;
  std::vector<std::shared_ptr<Storage>> copies;
  for (const Tensor& input : node.inputs) copies.push_back(run.copy_unless_contiguous(*input.node()));
}

double Primitive::operations(const Node& node) const {
  auto largest = static_cast<double>(node.elements());
  for (const Tensor& input : node.inputs) largest = std::max(largest, static_cast<double>(input.elements()));
  return largest;
}

// Lists the nodes to compute, inputs before their consumers, or returns an evaluation that computes one of them now.
std::shared_ptr<Batch> Engine::collect(std::span<const Tensor> roots, std::vector<Node*>& order) {
  struct Visit {
    Node* node;
    std::size_t next;  // input to visit
  };
  const std::uint64_t mark = ++collections_;
  std::vector<Visit> path;
  std::shared_ptr<Batch> other;
  const auto visit = [&](Node* node) {
    if (node->is_computed.load(std::memory_order_acquire) || node->mark == mark) return;
    if (node->batch) {
      other = node->batch;
      return;
    }
    node->mark = mark;
    node->consumers = 0;
    node->in_group = 0;
    node->is_grouped = false;
    path.push_back({node, 0});
  };
  for (const Tensor& root : roots) {
    visit(root.node().get());
    while (!path.empty() && !other) {
      Visit& last = path.back();
      if (last.next < last.node->inputs.size()) {
        visit(last.node->inputs[last.next++].node().get());
      } else {
        order.push_back(last.node);
        path.pop_back();
      }
    }
    if (other) return other;
  }
  for (Node* const node : order) {
    for (const Tensor& input : node->inputs) ++input.node()->consumers;
  }
  return nullptr;
}

void Engine::run(std::span<const Step> steps, const Observation& observation) {
  std::size_t done = 0;
  try {
    for (; done < steps.size(); ++done) {
      const Step& step = steps[done];
      observation.step();
      if (!step.is_map) {
        Node& node = *step.members.front();
        const std::shared_ptr<Node> computed = node.shared_from_this();
        compute(node);
        finish({&computed, 1}, {});
      } else {
        const std::vector<std::shared_ptr<Node>> outputs = outputs_of(step);
        compute_group(step.members, outputs);
        finish(outputs, step.members);
      }
    }
  } catch (...) {
    const FailedOperation failed(*steps[done].members.back());
    {
      const std::scoped_lock lock(mutex_);
      for (; done < steps.size(); ++done) {
        for (Node* const node : steps[done].members) node->batch = nullptr;
      }
    }
    rethrow(failed);
  }
}

// Publishes computed nodes, which lose the inputs that no gradient needs. The other members of their group were
// computed in passing: without a stored value, they can be computed again.
void Engine::finish(std::span<const std::shared_ptr<Node>> computed, std::span<Node* const> members) {
  std::vector<Origin> dropped;  // destroyed without the lock
  dropped.reserve(computed.size());
  const std::scoped_lock lock(mutex_);
  for (Node* const node : members) node->batch = nullptr;
  for (const std::shared_ptr<Node>& node : computed) {
    node->batch = nullptr;
    node->pending = 0;
    node->is_computed.store(true, std::memory_order_release);
    if (!node->tape || !node->tape->keep(*node)) dropped.push_back(node->take_origin());
  }
}

Origin Engine::take_origin(Node& node) {
  const std::scoped_lock lock(mutex_);
  return node.take_origin();
}

}  // namespace vectis::inline v0_1::array
