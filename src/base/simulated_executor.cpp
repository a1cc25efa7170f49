#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "base/split.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1 {

struct SimulatedExecutor::State {
  explicit State(Random root) : schedule(root.split()), program(root.split()) {}

  Random schedule;  // chooses the next task
  Random program;   // for random(): separate, so that the program's draws do not change the schedule
  TimePoint now{};
  std::vector<Task> ready;
  std::multimap<TimePoint, Task> timers;
  std::uint64_t trace = 0;
  bool stepping = false;

  // Timers due at the same time become ready together; the schedule decides their order.
  void advance() {
    now = timers.begin()->first;
    while (!timers.empty() && timers.begin()->first == now) {
      ready.push_back(std::move(timers.extract(timers.begin()).mapped()));
    }
  }

  Task draw() {
    const auto index = static_cast<std::size_t>(schedule.below(ready.size()));
    mix(ready.size());
    mix(index);
    mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    std::swap(ready[index], ready.back());
    Task task = std::move(ready.back());
    ready.pop_back();
    return task;
  }

  void mix(std::uint64_t value) noexcept {
    trace = (trace ^ value) * 0x9e3779b97f4a7c15ULL;
    trace ^= trace >> 29;
  }
};

namespace {

class SteppingScope {
 public:
  explicit SteppingScope(bool& stepping) noexcept : stepping_(stepping) { stepping_ = true; }
  ~SteppingScope() { stepping_ = false; }
  SteppingScope(const SteppingScope&) = delete;
  SteppingScope& operator=(const SteppingScope&) = delete;

 private:
  bool& stepping_;
};

void check_not_in_task(bool stepping, std::string_view op) {
  if (!stepping) return;
  throw Error(ErrorCode::invalid_input, op,
              "called from inside a task of the same simulation, which runs one task at a time; co_await instead");
}

}  // namespace

SimulatedExecutor::SimulatedExecutor(std::uint64_t seed) : state_(std::make_unique<State>(Random(seed))) {}
SimulatedExecutor::~SimulatedExecutor() = default;

void SimulatedExecutor::post(Task task) { state_->ready.push_back(std::move(task)); }

void SimulatedExecutor::post_after(Duration delay, Task task) {
  if (delay <= Duration::zero()) return post(std::move(task));
  const TimePoint now = state_->now;
  state_->timers.emplace(delay > TimePoint::max() - now ? TimePoint::max() : now + delay, std::move(task));
}

TimePoint SimulatedExecutor::now() const { return state_->now; }
std::uint64_t SimulatedExecutor::random() { return state_->program.next(); }
std::uint64_t SimulatedExecutor::trace() const noexcept { return state_->trace; }

void SimulatedExecutor::parallel_for(std::size_t count, std::size_t grain, const Range& body) {
  const Split split(count, grain, concurrency());
  for (std::size_t i = 0; i < split.pieces(); ++i) {
    const SubRange range = split.piece(i);
    body(range.begin, range.end);
  }
}

bool SimulatedExecutor::step() {
  check_not_in_task(state_->stepping, "step");
  if (state_->ready.empty()) {
    if (state_->timers.empty()) return false;
    state_->advance();
  }
  const Task task = state_->draw();
  const SteppingScope stepping(state_->stepping);
  task();
  return true;
}

std::size_t SimulatedExecutor::run(std::size_t limit) {
  std::size_t steps = 0;
  while (steps < limit && step()) ++steps;
  return steps;
}

void SimulatedExecutor::run_until(const std::function<bool()>& done) {
  check_not_in_task(state_->stepping, "run_until");
  std::size_t steps = 0;
  while (!done()) {
    if (!step()) {
      throw Error(
          ErrorCode::invalid_input, "run_until",
          fmt::format("the simulation is stuck after {} steps: no task and no timer is left that could make the "
                      "condition true; look for a message that is never sent or a mailbox that is never closed",
                      steps));
    }
    ++steps;
  }
}

}  // namespace vectis::inline v0_1
