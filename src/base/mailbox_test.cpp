#include "vectis/base/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "vectis/base/task.hpp"

namespace vectis {
namespace {

Task<std::vector<int>> receive_all(Mailbox<int>& mailbox) {
  std::vector<int> received;
  while (const auto message = co_await mailbox.receive()) received.push_back(*message);
  co_return received;
}

Task<std::optional<int>> receive_one(Mailbox<int>& mailbox) { co_return co_await mailbox.receive(); }

TEST(Mailbox, IsFirstInFirstOut) {
  SimulatedExecutor executor(1);
  Mailbox<int> mailbox(executor, 3);
  for (const int i : {1, 2, 3}) EXPECT_TRUE(mailbox.send(i));
  mailbox.close();
  EXPECT_EQ(sync_wait(executor, receive_all(mailbox)), (std::vector<int>{1, 2, 3}));
}

TEST(Mailbox, RejectsWhenFullAndAcceptsAgainAfterAReceive) {
  SimulatedExecutor executor(1);
  Mailbox<int> mailbox(executor, 2);
  EXPECT_TRUE(mailbox.send(1));
  EXPECT_TRUE(mailbox.send(2));
  EXPECT_FALSE(mailbox.send(3));
  EXPECT_EQ(sync_wait(executor, receive_one(mailbox)), 1);
  EXPECT_TRUE(mailbox.send(4));
}

TEST(Mailbox, WithoutCapacityDeliversOnlyToWaitingReceivers) {
  SimulatedExecutor executor(1);
  Mailbox<int> mailbox(executor, 0);
  EXPECT_FALSE(mailbox.send(1));
  auto receiver = spawn(executor, receive_one(mailbox));
  executor.run();
  EXPECT_FALSE(receiver.done());
  EXPECT_TRUE(mailbox.send(2));
  EXPECT_FALSE(receiver.done()) << "resumed inside send";
  executor.run();
  EXPECT_EQ(receiver.take(), 2);
}

TEST(Mailbox, CloseWakesAllReceiversAndRejectsLaterMessages) {
  SimulatedExecutor executor(1);
  Mailbox<int> mailbox(executor, 4);
  auto one = spawn(executor, receive_one(mailbox));
  auto two = spawn(executor, receive_one(mailbox));
  executor.run();
  mailbox.close();
  mailbox.close();
  executor.run();
  EXPECT_EQ(one.take(), std::nullopt);
  EXPECT_EQ(two.take(), std::nullopt);
  EXPECT_FALSE(mailbox.send(1));
  EXPECT_EQ(sync_wait(executor, receive_one(mailbox)), std::nullopt);
}

TEST(Mailbox, ReceiversAreServedInOrder) {
  SimulatedExecutor executor(1);
  Mailbox<int> mailbox(executor, 4);
  auto first = spawn(executor, receive_one(mailbox));
  executor.run();
  auto second = spawn(executor, receive_one(mailbox));
  executor.run();
  EXPECT_TRUE(mailbox.send(1));
  EXPECT_TRUE(mailbox.send(2));
  executor.run();
  EXPECT_EQ(first.take(), 1);
  EXPECT_EQ(second.take(), 2);
}

Task<> receive_move_only(Mailbox<std::unique_ptr<int>>& mailbox, int& seen) {
  auto message = co_await mailbox.receive();
  seen = **message;
}

TEST(Mailbox, CarriesMoveOnlyMessages) {
  SimulatedExecutor executor(1);
  Mailbox<std::unique_ptr<int>> mailbox(executor, 1);
  int seen = 0;
  auto receiver = spawn(executor, receive_move_only(mailbox, seen));
  executor.run();
  EXPECT_TRUE(mailbox.send(std::make_unique<int>(9)));
  executor.run();
  EXPECT_EQ(seen, 9);
}

TEST(MailboxConcurrent, EveryMessageArrivesOnce) {
  constexpr int senders = 3;
  constexpr int each = 2000;
  const auto executor = make_thread_executor({.threads = 4});
  Mailbox<int> mailbox(*executor, 16);
  std::vector<Spawned<std::vector<int>>> receivers;
  receivers.reserve(3);
  for (int i = 0; i < 3; ++i) receivers.push_back(spawn(*executor, receive_all(mailbox)));
  std::vector<std::thread> threads;
  threads.reserve(senders);
  for (int s = 0; s < senders; ++s) {
    threads.emplace_back([&, s] {
      for (int i = 0; i < each; ++i) {
        while (!mailbox.send(s * each + i)) std::this_thread::yield();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  mailbox.close();
  std::vector<int> counts(static_cast<std::size_t>(senders) * each);
  for (auto& receiver : receivers) {
    executor->run_until([&] { return receiver.done(); });
    for (const int message : receiver.take()) ++counts[static_cast<std::size_t>(message)];
  }
  for (const int count : counts) ASSERT_EQ(count, 1);
}

Task<> receive_and_destroy(std::unique_ptr<Mailbox<int>> mailbox) { co_await mailbox->receive(); }

TEST(MailboxConcurrent, AWokenReceiverMayDestroyTheMailbox) {
  const auto executor = make_thread_executor({.threads = 2});
  for (int i = 0; i < 500; ++i) {
    auto mailbox = std::make_unique<Mailbox<int>>(*executor, 0);
    Mailbox<int>& reference = *mailbox;
    auto receiver = spawn(*executor, receive_and_destroy(std::move(mailbox)));
    while (!reference.send(1)) std::this_thread::yield();  // taken only once the receiver waits
    executor->run_until([&] { return receiver.done(); });
  }
}

}  // namespace
}  // namespace vectis
