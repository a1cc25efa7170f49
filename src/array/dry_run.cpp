#include "array/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "array/element_map.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "memory/device_pool.hpp"

namespace vectis::inline v0_1::array {

namespace {

thread_local DryRun* running = nullptr;  // of this thread

// A block of the ledger, which the storage that owns it gives back.
struct Charge {
  Charge(std::shared_ptr<MemoryLedger> in, std::size_t number) : ledger(std::move(in)), block(number) {}
  ~Charge() { ledger->give(block); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  std::shared_ptr<MemoryLedger> ledger;
  std::size_t block;
};

// The value of an array that outlived its dry run.
class Lost final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "predict_memory"; }
  void compute(Node& /*node*/) const override {
    throw_invalid(name(),
                  "the array was made while memory was predicted, when nothing is computed; make it again, and keep no "
                  "arrays of a loss that is called for a prediction");
  }
  void compute_on_device(Node& node) const override { compute(node); }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor>, const Tensor&) const override {
    return {};
  }
};
const Lost lost_primitive;

std::uint64_t bytes_of_node(const Node& node) {
  return static_cast<std::uint64_t>(node.elements()) * node.element_bytes();
}

}  // namespace

std::size_t MemoryLedger::take(std::uint64_t bytes, MemoryUse use) {
  constexpr std::uint64_t bytes_max = std::uint64_t{1} << 62;
  const std::scoped_lock lock(mutex_);
  if (bytes > bytes_max - taken_) {
    throw_invalid("predict_memory", "the arrays have more than 2^62 bytes; give a smaller batch or network");
  }
  // So that give() needs no memory.
  if (events_.capacity() < 2 * (blocks_.size() + 1)) events_.reserve(4 * (blocks_.size() + 1));
  blocks_.push_back({bytes, use});
  events_.push_back({blocks_.size() - 1, true});
  taken_ += bytes;
  if (taken_ > peak_) {
    peak_ = taken_;
    events_at_peak_ = events_.size();
  }
  return blocks_.size() - 1;
}

void MemoryLedger::give(std::size_t block) noexcept {
  const std::scoped_lock lock(mutex_);
  events_.push_back({block, false});
  taken_ -= blocks_[block].bytes;
}

void MemoryLedger::set_use(std::size_t block, MemoryUse use) {
  const std::scoped_lock lock(mutex_);
  blocks_[block].use = use;
}

std::vector<std::uint64_t> MemoryLedger::peak(std::size_t uses) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::uint64_t> bytes(uses, 0);
  for (const Event& event : std::span(events_).first(events_at_peak_)) {
    const Block& block = blocks_[event.block];
    bytes[block.use] += event.is_taken ? block.bytes : -block.bytes;
  }
  return bytes;
}

DryRun* DryRun::current() noexcept { return running; }

DryRun::Pause::Pause() noexcept : paused_(std::exchange(running, nullptr)) {}
DryRun::Pause::~Pause() { running = paused_; }

DryRun::DryRun(const Device& counted)
    : lane_(lane_of(counted)),
      pool_(memory_pool(lane_.runtime()).device_pool(counted.id())),
      ledger_(std::make_shared<MemoryLedger>()),
      first_number_(lane_.engine().last_number()) {
  if (running != nullptr) {
    throw_invalid("predict_memory", "memory is predicted by this thread already; call it outside of the loss");
  }
  running = this;
}

DryRun::~DryRun() {
  running = nullptr;
  std::vector<Origin> dropped;                  // destroyed without the lock
  std::vector<std::shared_ptr<Storage>> empty;  // as well
  std::vector<std::shared_ptr<Node>> kept;
  for (const std::weak_ptr<Node>& one : computed_) {
    if (std::shared_ptr<Node> node = one.lock(); node && is_without_memory(*node->storage)) {
      kept.push_back(std::move(node));
    }
  }
  const auto lock = lane_.engine().lock_nodes();
  for (const std::shared_ptr<Node>& node : kept) {
    dropped.push_back(node->take_origin());
    empty.push_back(std::move(node->storage));
    node->primitive = unowned(lost_primitive);
    node->pending = 1;
    node->is_computed = false;
  }
}

Tensor DryRun::stand_in(const Shape& shape, DType type, const Device& device, MemoryUse use) {
  check_shape("predict_memory", shape, type);
  auto node = std::make_shared<Node>(lane_of(device), type, shape);
  node->storage = allocate(*node->lane, bytes_of_node(*node), use);
  node->is_computed = true;
  computed_.push_back(node);
  return Tensor(std::move(node));
}

Tensor DryRun::stand_in_beside_pool(const Shape& shape, DType type) {
  check_shape("predict_memory", shape, type);
  auto node = std::make_shared<Node>(lane_.engine().lane(std::nullopt), type, shape);
  node->storage = std::make_shared<Storage>();
  node->is_computed = true;
  computed_.push_back(node);
  return Tensor(std::move(node));
}

void DryRun::begin_use(MemoryUse use) { uses_.push_back({lane_.engine().last_number() + 1, use}); }

MemoryUse DryRun::use_of(const Node& node) const noexcept {
  const auto after = std::ranges::upper_bound(uses_, node.number, {}, &Beginning::number);
  return after == uses_.begin() ? workspace_use_ : std::prev(after)->use;
}

void DryRun::set_use(std::span<const Tensor> tensors, MemoryUse use) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_computed()) continue;
    const Storage& storage = *tensor.node()->storage;
    if (is_without_memory(storage) && storage.owner) {
      ledger_->set_use(static_cast<const Charge*>(storage.owner.get())->block, use);
    }
  }
}

void DryRun::compute(Node& node) {
  count_inputs(node);
  node.primitive->dry_run(node, *this);
  computed_.push_back(node.weak_from_this());
}

void DryRun::compute_map(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs) {
  for (const Node* const member : members) count_inputs(*member);
  for (const std::shared_ptr<Node>& output : outputs) {
    allocate(*output);
    computed_.emplace_back(output);
  }
  const std::vector<std::shared_ptr<Storage>> copies = copies_of_map_inputs(members, *this);
}

void DryRun::allocate(Node& node) { node.storage = allocate(*node.lane, bytes_of_node(node), use_of(node)); }

std::shared_ptr<Storage> DryRun::workspace(const Lane& lane, std::uint64_t bytes) {
  return allocate(lane, bytes, workspace_use_);
}

std::shared_ptr<Storage> DryRun::copy_unless_contiguous(const Node& node) {
  if (node.is_contiguous || node.elements() == 0) return nullptr;
  return workspace(*node.lane, bytes_of_node(node));
}

std::shared_ptr<Storage> DryRun::allocate(const Lane& lane, std::uint64_t bytes, MemoryUse use) {
  auto storage = std::make_shared<Storage>();
  const std::uint64_t requested = lane.pool_bytes(bytes);
  if (&lane != &lane_ || requested == 0) return storage;
  release_found();
  largest_ = std::max(largest_, requested);
  storage->owner = std::make_shared<Charge>(ledger_, ledger_->take(pool_->block_bytes(requested), use));
  return storage;
}

// Counts memory of arrays that operations read and the program made otherwise: constants, tables.
void DryRun::count_inputs(const Node& node) {
  for (const Tensor& input : node.inputs) {
    const Node& one = *input.node();
    if (one.lane != &lane_ || !one.is_computed || !one.storage->buffer) continue;
    const auto is_same = [&](const Found& found) { return found.storage.lock() == one.storage; };
    if (std::ranges::any_of(found_, is_same)) continue;
    found_.push_back({one.storage, ledger_->take(pool_->block_bytes(one.storage->buffer.bytes()), use_of(node))});
  }
}

void DryRun::release_found() {
  std::erase_if(found_, [&](const Found& found) {
    const bool is_released = found.storage.expired();
    if (is_released) ledger_->give(found.block);
    return is_released;
  });
}

}  // namespace vectis::inline v0_1::array
