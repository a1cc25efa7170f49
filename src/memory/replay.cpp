#include "vectis/memory/replay.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "device/call.hpp"
#include "memory/replay_players.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

using detail::Player;

// An event ready to be played: nothing is looked up while time is taken.
struct Step {
  bool allocate;
  std::size_t slot;  // the number of the allocation it belongs to
};

class Score {
 public:
  Score(const AllocationLog& log, const DeviceContext& context) {
    std::unordered_map<std::uint64_t, std::size_t> slots;
    std::map<std::string, Context, std::less<>> tags;
    std::uint32_t streams = 0;
    for (const AllocationEvent& event : log.events) streams = std::max(streams, event.stream);
    streams_.reserve(streams);
    for (std::uint32_t i = 0; i < streams; ++i) streams_.emplace_back(context);
    for (const AllocationEvent& event : log.events) {
      if (event.kind == AllocationEvent::Kind::release) {
        steps_.push_back({false, slots.at(event.id)});
        continue;
      }
      const auto tag = tags.try_emplace(event.tag, Context{}.with_memory_tag(event.tag)).first;
      Stream* stream = event.stream == 0 ? nullptr : &streams_[event.stream - 1];
      slots.emplace(event.id, requests_.size());
      steps_.push_back({true, requests_.size()});
      requests_.push_back({event.bytes, event.precision, stream, tag->second});
    }
  }

  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }
  [[nodiscard]] const MemoryRequest& request(std::size_t slot) const { return requests_[slot]; }
  [[nodiscard]] std::size_t slots() const noexcept { return requests_.size(); }

  void play(const Step& step, Player& player) const {
    if (step.allocate) {
      player.allocate(step.slot, requests_[step.slot]);
    } else {
      player.release(step.slot);
    }
  }

 private:
  std::vector<Stream> streams_;
  std::vector<MemoryRequest> requests_;
  std::vector<Step> steps_;
};

// Collects the waste of one pass in two reads: the worst moment counts only where enough was live.
class WasteMeter {
 public:
  void add(std::uint64_t allocated, std::uint64_t requested) {
    if (requested == 0) return;
    const auto asked = static_cast<double>(requested);
    const double waste = (static_cast<double>(allocated) - asked) / asked;
    moments_.push_back({requested, waste});
    wasted_ += static_cast<double>(allocated) - asked;
    asked_ += asked;
  }

  [[nodiscard]] ReplayWaste result() const {
    ReplayWaste result;
    if (moments_.empty()) return result;
    const Moment& peak = *std::ranges::max_element(moments_, {}, &Moment::requested);
    result.at_peak = peak.waste;
    result.mean = wasted_ / asked_;
    for (const Moment& one : moments_) {
      if (one.requested >= peak.requested / 16) result.max = std::max(result.max, one.waste);
    }
    return result;
  }

 private:
  struct Moment {
    std::uint64_t requested;
    double waste;
  };
  std::vector<Moment> moments_;
  double wasted_ = 0;
  double asked_ = 0;
};

ReplayResult measure(const Score& score, Player& player) {
  WasteMeter meter;
  std::uint64_t requested = 0;
  for (const Step& step : score.steps()) {
    score.play(step, player);
    const std::uint64_t bytes = score.request(step.slot).bytes;
    requested = step.allocate ? requested + bytes : requested - bytes;
    meter.add(player.allocated_bytes(), requested);
  }
  return {player.name(), Duration{0}, player.peak_bytes(), meter.result(), player.device_allocations(), 0};
}

Duration time_round(const Executor& executor, const Score& score, Player& player) {
  const TimePoint start = executor.now();
  for (const Step& step : score.steps()) score.play(step, player);
  const Duration total = executor.now() - start;
  player.release_all();
  return total / static_cast<Duration::rep>(std::max<std::size_t>(score.steps().size(), 1));
}

Duration median(std::vector<Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

ReplayReport replay(Runtime& runtime, const DeviceContext& context, const AllocationLog& log, std::size_t rounds) {
  if (rounds == 0) throw Error(ErrorCode::invalid_input, "replay", "0 rounds were asked for; ask for at least 1");
  const Score score(log, context);
  const auto players = detail::make_players(runtime, context, score.slots());
  ReplayReport report{
      detail::describe(*context.device().core()), log.events.size(), score.slots(), log.peak_bytes(), rounds, {}};
  for (const auto& player : players) {
    report.results.push_back(measure(score, *player));
    player->release_all();
  }
  std::vector<std::vector<Duration>> times(players.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < players.size(); ++i) {
      const std::uint64_t before = players[i]->device_allocations();
      times[i].push_back(time_round(runtime.executor(), score, *players[i]));
      report.results[i].device_allocations_last = players[i]->device_allocations() - before;
    }
  }
  for (std::size_t i = 0; i < players.size(); ++i) report.results[i].per_event = median(std::move(times[i]));
  return report;
}

}  // namespace vectis::inline v0_1
