#include "kernel/vm/plan.hpp"

#include <algorithm>

#include "kernel/vm/draft.hpp"

namespace vectis::inline v0_1::executor {

namespace {

constexpr std::size_t block_max = 2048;
constexpr std::size_t block_min = 2 * lanes_max;
constexpr std::size_t block_bytes = 24 << 10;  // half of a usual L1, as the rest of the world wants some of it

// Gives slots to holders by the stretch of steps in which each is alive.
class Placer {
 public:
  explicit Placer(Draft draft) : draft_(std::move(draft)) {}

  Plan run() {
    find_lives();
    place_outputs();
    place_slots();
    Plan plan;
    plan.scalars = draft_.scalars;
    for (const DraftStep& step : draft_.once) plan.once.push_back(placed(step));
    for (const DraftStep& step : draft_.steps) plan.steps.push_back(placed(step));
    for (Step& step : plan.steps) step.last = !is_read(plan, step.out);
    plan.slots = slots_;
    plan.uniforms = draft_.uniforms;
    return plan;
  }

 private:
  struct Life {
    std::size_t first = SIZE_MAX;
    std::size_t last = 0;
    std::size_t writers = 0;
  };

  // A value from before a loop that the loop uses lives until the loop ends, for the next iteration uses it again.
  void find_lives() {
    lives_.resize(draft_.places.size());
    std::vector<std::size_t> open;  // loops around the step
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      const DraftStep& step = draft_.steps[i];
      std::erase_if(open, [&](std::size_t loop) { return draft_.steps[loop].end <= i; });
      for (const Holder holder : step.in) {
        if (holder == no_holder) continue;
        Life& life = lives_[holder];
        const auto around = std::ranges::find_if(open, [&](std::size_t loop) { return life.first < loop; });
        life.last = std::max(life.last, around == open.end() ? i : draft_.steps[*around].end - 1);
      }
      if (step.kernel == nullptr) open.push_back(i);
      if (step.out == no_holder) continue;
      Life& life = lives_[step.out];
      life.first = std::min(life.first, i);
      life.last = std::max(life.last, i);
      ++life.writers;
    }
  }

  // A value that is only stored is computed straight into the output, if nothing later reads an input, whose memory the
  // output may be, and if no loop surrounds it, which means that it is written once.
  void place_outputs() {
    std::size_t after_inputs = 0;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (const Holder holder : draft_.steps[i].in) {
        if (holder != no_holder && draft_.places[holder].kind == Place::Kind::input) after_inputs = i;
      }
    }
    for (DraftStep& store : draft_.steps) {
      if (store.out == no_holder || draft_.places[store.out].kind != Place::Kind::output) continue;
      const Holder value = store.in[0];
      const Life& life = lives_[value];
      const bool plain = store.kernel == store_kernel(DType::uint32);
      if (!plain || draft_.places[value].kind != Place::Kind::none || life.writers != 1) continue;
      if (life.first < after_inputs || inside_loop(life.first)) continue;
      draft_.places[value] = draft_.places[store.out];
      store.out = no_holder;
      store.in.clear();
    }
    compact();
  }

  [[nodiscard]] bool inside_loop(std::size_t position) const {
    return std::ranges::any_of(draft_.steps, [&](const DraftStep& step) {
      const auto begin = static_cast<std::size_t>(&step - draft_.steps.data());
      return step.kernel == nullptr && begin < position && position < step.end;
    });
  }

  // Stores are the last steps, so taking some out moves no loop and no life.
  void compact() {
    std::erase_if(draft_.steps, [](const DraftStep& step) { return step.kernel != nullptr && step.out == no_holder; });
  }

  void place_slots() {
    std::vector<std::uint32_t> free;
    std::vector<Holder> alive;
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      // What dies here gives its slot to what is made here: instructions may write over their operands.
      std::erase_if(alive, [&](Holder holder) {
        if (lives_[holder].last > i) return false;
        free.push_back(draft_.places[holder].number);
        return true;
      });
      const Holder out = draft_.steps[i].out;
      if (out == no_holder || draft_.places[out].kind != Place::Kind::none) continue;
      if (free.empty()) free.push_back(slots_++);
      draft_.places[out] = {Place::Kind::slot, free.back()};
      free.pop_back();
      alive.push_back(out);
    }
  }

  static bool is_read(const Plan& plan, Place place) {
    return std::ranges::any_of(plan.steps, [&](const Step& step) { return std::ranges::count(step.in, place) > 0; });
  }
  [[nodiscard]] Place place(Holder holder) const { return holder == no_holder ? Place{} : draft_.places[holder]; }
  [[nodiscard]] Step placed(const DraftStep& step) const {
    Step result{step.kernel, place(step.out), {}, step.op, step.table, step.end, step.links, false};
    for (const Holder holder : step.in) result.in.push_back(place(holder));
    return result;
  }

  Draft draft_;
  std::vector<Life> lives_;
  std::uint32_t slots_ = 0;
};

}  // namespace

Plan make_plan(const ir::Function& function) {
  Draft draft = make_draft(function);
  link_chains(draft);
  Plan plan = Placer(std::move(draft)).run();
  const std::size_t streams = plan.slots + function.inputs.size() + function.outputs.size();
  plan.block = block_max;
  while (plan.block > block_min && plan.block * 4 * streams > block_bytes) plan.block /= 2;
  return plan;
}

}  // namespace vectis::inline v0_1::executor
