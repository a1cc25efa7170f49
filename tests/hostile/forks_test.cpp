// A child that is forked while a thread of its parent changes a collection. The thread's lock is never released in the
// child: calls there must throw Forked before they wait for it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "vectis/store.hpp"

namespace vectis::test {
namespace {

constexpr int threw_forked = 3;
constexpr int threw_nothing = 4;
constexpr unsigned patience_seconds = 20;

// Runs the call in a child and returns how the child ended; -1: a signal, such as that of its alarm.
int end_of_child(const std::function<void()>& call) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience_seconds);
    int end = threw_nothing;
    try {
      call();
    } catch (const Error& error) {
      end = error.code() == ErrorCode::forked ? threw_forked : static_cast<int>(error.code()) + 100;
    }
    _exit(end);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Forks, ChangesOfACollectionDoNotWaitForTheParentsThread) {
  Runtime runtime;
  VectorStore store(runtime);
  Collection collection = store.create_collection("c", {.dim = 2, .index = "flat"});
  std::atomic<bool> changing = false;
  std::atomic<bool> end = false;
  std::thread writer([&] {
    const Context context = Context{}.with_progress([&](const Progress&) {
      changing = true;
      changing.notify_all();
      end.wait(false);
    });
    collection.add(std::vector<float>{1, 2}, context);
  });
  changing.wait(false);
  const std::vector<float> row{3, 4};
  const std::array<std::uint64_t, 1> ids{7};
  EXPECT_EQ(end_of_child([&] { collection.add(row); }), threw_forked);
  EXPECT_EQ(end_of_child([&] { collection.add(ids, row); }), threw_forked);
  EXPECT_EQ(end_of_child([&] { collection.upsert(ids, row); }), threw_forked);
  EXPECT_EQ(end_of_child([&] { collection.remove(ids); }), threw_forked);
  EXPECT_EQ(end_of_child([&] { store.drop_collection("c"); }), threw_forked);
  end = true;
  end.notify_all();
  writer.join();
  EXPECT_EQ(collection.size(), 1U);
}

}  // namespace
}  // namespace vectis::test
