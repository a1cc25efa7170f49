// Three actors written once: a client that adds numbers on a server through a network that delays, doubles and loses
// packets. The simulator replays a run from its seed; real threads run the same functions.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/seed.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/mailbox.hpp"
#include "vectis/base/task.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;

struct Packet {
  enum class Kind : std::uint8_t { request, reply, timeout };
  Kind kind = Kind::request;
  int id = 0;
  int attempt = 0;
  int value = 0;
};

// State shared by the actors; every actor holds a reference.
struct World {
  explicit World(Executor& used) : executor(used) {}

  Executor& executor;
  Mailbox<Packet> to_network{executor, 64};
  Mailbox<Packet> to_server{executor, 64};
  Mailbox<Packet> to_client{executor, 64};
  std::atomic<int> underway{0};  // packets and timers not yet delivered
  std::mutex mutex;
  std::string diary;  // what happened, in order

  void note(char what, int id) {
    const std::lock_guard lock(mutex);
    diary += what + std::to_string(id) + ' ';
  }
  // A number from 0 to `bound` - 1.
  int draw(int bound) { return static_cast<int>(executor.random() % static_cast<std::uint64_t>(bound)); }
};
using Shared = std::shared_ptr<World>;

Task<> deliver(Shared world, Mailbox<Packet>& target, Packet packet, Duration delay) {
  co_await sleep_for(world->executor, delay);
  if (!target.send(packet)) world->note('x', packet.id);
  world->underway.fetch_sub(1);
}

void send_later(const Shared& world, Mailbox<Packet>& target, Packet packet, Duration delay) {
  world->underway.fetch_add(1);
  spawn(world->executor, deliver(world, target, packet, delay));
}

Task<> network(Shared world) {
  while (const auto packet = co_await world->to_network.receive()) {
    const int copies = world->draw(4) == 0 ? world->draw(2) * 2 : 1;  // now and then none or two
    if (copies == 0) world->note('-', packet->id);
    for (int i = 0; i < copies; ++i) {
      Mailbox<Packet>& target = packet->kind == Packet::Kind::request ? world->to_server : world->to_client;
      send_later(world, target, *packet, std::chrono::microseconds(world->draw(300)));
    }
  }
}

// Adds each request once, also when it arrives repeatedly, and acknowledges it.
Task<int> server(Shared world) {
  int total = 0;
  std::set<int> seen;
  while (auto packet = co_await world->to_server.receive()) {
    if (seen.insert(packet->id).second) total += packet->value;
    packet->kind = Packet::Kind::reply;
    if (!world->to_network.send(*packet)) world->note('f', packet->id);
  }
  co_return total;
}

// Sends each number until it is acknowledged; returns the sum of the acknowledged numbers.
Task<int> client(Shared world, int requests) {
  int sum = 0;
  for (int id = 1; id <= requests; ++id) {
    bool acknowledged = false;
    for (int attempt = 0; !acknowledged; ++attempt) {
      if (!world->to_network.send({Packet::Kind::request, id, attempt, id * id})) world->note('f', id);
      send_later(world, world->to_client, {Packet::Kind::timeout, id, attempt, 0}, 1ms);
      for (bool waiting = true; waiting;) {
        const auto packet = co_await world->to_client.receive();
        if (packet->id != id) continue;  // late news of an earlier request
        acknowledged = packet->kind == Packet::Kind::reply;
        waiting = !acknowledged && packet->attempt != attempt;
        if (acknowledged) sum += packet->value;
        world->note(acknowledged ? 'a' : 't', id);
      }
    }
  }
  co_return sum;
}

struct Outcome {
  int acknowledged = 0;
  int added = 0;
  std::string diary;
};

Outcome run_program(Executor& executor, int requests) {
  const auto world = std::make_shared<World>(executor);
  auto running_network = spawn(executor, network(world));
  auto running_server = spawn(executor, server(world));
  Outcome outcome;
  outcome.acknowledged = sync_wait(executor, client(world, requests));
  for (auto* mailbox : {&world->to_client, &world->to_server, &world->to_network}) mailbox->close();
  executor.run_until([&] { return running_network.done() && running_server.done() && world->underway.load() == 0; });
  outcome.added = running_server.take();
  outcome.diary = world->diary;
  return outcome;
}

constexpr int requests = 20;
constexpr int expected_sum = requests * (requests + 1) * (2 * requests + 1) / 6;

TEST(Actors, ComputeTheCorrectSumUnderEverySeed) {
  const std::uint64_t first = test::seed() * 1000;
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    SimulatedExecutor executor(seed);
    const Outcome outcome = run_program(executor, requests);
    ASSERT_EQ(outcome.acknowledged, expected_sum) << "seed " << seed << ": " << outcome.diary;
    ASSERT_EQ(outcome.added, expected_sum) << "seed " << seed << ": " << outcome.diary;
  }
}

TEST(Actors, TheSameSeedReplaysTheSameRun) {
  std::set<std::uint64_t> traces;
  std::set<std::string> diaries;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedExecutor first(seed);
    SimulatedExecutor second(seed);
    const Outcome once = run_program(first, requests);
    const Outcome twice = run_program(second, requests);
    ASSERT_EQ(once.diary, twice.diary) << "seed " << seed;
    ASSERT_EQ(first.trace(), second.trace()) << "seed " << seed;
    ASSERT_EQ(first.now(), second.now()) << "seed " << seed;
    traces.insert(first.trace());
    diaries.insert(once.diary);
  }
  EXPECT_EQ(traces.size(), 100U);
  EXPECT_EQ(diaries.size(), 100U);
}

TEST(Actors, SeedsExploreLossesDuplicatesAndTimeouts) {
  std::string diaries;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedExecutor executor(seed);
    diaries += run_program(executor, requests).diary;
  }
  EXPECT_NE(diaries.find('-'), std::string::npos) << "no packet was lost";
  EXPECT_NE(diaries.find('t'), std::string::npos) << "no request timed out";
}

TEST(ActorsConcurrent, RunUnchangedOnRealThreads) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto executor = make_thread_executor({.threads = 4, .seed = seed});
    const Outcome outcome = run_program(*executor, requests);
    EXPECT_EQ(outcome.acknowledged, expected_sum) << "seed " << seed << ": " << outcome.diary;
    EXPECT_EQ(outcome.added, expected_sum) << "seed " << seed << ": " << outcome.diary;
  }
}

}  // namespace
}  // namespace vectis
