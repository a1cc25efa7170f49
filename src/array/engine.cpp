#include "array/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Throws the exception that is handled now again, so that an Error names the operation and, with the setting `debug`,
// where the program called it.
[[noreturn]] void rethrow(const Node& node) {
  std::string op(node.primitive->name());
  if (node.lane->runtime().settings().flag("debug") && node.where.line() != 0) {
    op += fmt::format(", recorded at {}:{}", node.where.file_name(), node.where.line());
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

}  // namespace

Lane::Lane(Engine& engine, Runtime& runtime, Device device)
    : engine_(engine), runtime_(runtime), device_(std::move(device)), pool_(memory_pool(runtime)) {}

std::shared_ptr<Storage> Lane::allocate(std::uint64_t bytes) const {
  auto storage = std::make_shared<Storage>();
  if (bytes <= Storage::inline_bytes) {
    storage->host = storage->small.data();
  } else {
    storage->buffer = pool_.allocate_bytes(device_.id(), bytes, {.context = Context{}.with_memory_tag("array")});
    storage->host = storage->buffer.memory().address();
  }
  return storage;
}

void Lane::allocate(Node& node) const {
  node.storage = allocate(static_cast<std::uint64_t>(node.elements()) * node.element_bytes());
}

void Lane::run_operation(std::string_view name, std::span<const View> views,
                         std::span<const ParameterValue> parameters) {
  const std::scoped_lock lock(mutex_);
  if (!stream_) stream_ = std::make_unique<Stream>(views.front().memory.context());
  run(*stream_, name, views, parameters);
  stream_->synchronize();
}

Engine::Engine(Runtime& runtime) : runtime_(runtime) {}

Lane& Engine::lane(const std::optional<Device>& device) {
  const auto& registry = runtime_.service<DeviceRegistry>();
  const Device chosen = device ? *device : registry.find("cpu").value();
  if (chosen.info().kind != DeviceKind::cpu || chosen.backend() != "cpu") {
    throw Error(ErrorCode::unsupported, "array",
                fmt::format("arrays run on the CPU only, not on '{}'; leave the device out", chosen.label()));
  }
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(lanes_, [&](const auto& lane) { return lane->device().id() == chosen.id(); });
  if (found != lanes_.end()) return **found;
  return *lanes_.emplace_back(std::make_unique<Lane>(*this, runtime_, chosen));
}

void Engine::evaluate(std::span<const Tensor> roots) {
  while (true) {
    auto batch = std::make_shared<Batch>();
    const std::unique_lock running(batch->running);
    std::vector<Node*> order;
    std::unique_lock lock(mutex_);
    if (const std::shared_ptr<Batch> other = collect(roots, order)) {
      lock.unlock();
      const std::scoped_lock wait(other->running);
      continue;
    }
    const std::vector<Step> steps = make_steps(order);
    for (Node* const node : order) node->batch = batch;
    lock.unlock();
    return run(steps);
  }
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

void Engine::run(std::span<const Step> steps) {
  std::size_t done = 0;
  try {
    for (; done < steps.size(); ++done) {
      const Step& step = steps[done];
      if (!step.is_map) {
        Node& node = *step.members.front();
        const std::shared_ptr<Node> computed = node.shared_from_this();
        node.primitive->compute(node);
        finish({&computed, 1}, {});
      } else {
        const std::vector<std::shared_ptr<Node>> outputs = outputs_of(step);
        compute_map(step.members, outputs);
        finish(outputs, step.members);
      }
    }
  } catch (...) {
    const Node& failed = *steps[done].members.back();
    {
      const std::scoped_lock lock(mutex_);
      for (; done < steps.size(); ++done) {
        for (Node* const node : steps[done].members) node->batch = nullptr;
      }
    }
    rethrow(failed);
  }
}

// Sets nodes to computed, and the other members of their group, which were computed in passing without being stored,
// as not computed. Drops inputs that no gradient needs.
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
