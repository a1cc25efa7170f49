// Runs random operations on one store in 64 threads.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <iostream>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/seed.hpp"
#include "tests/support/store_model.hpp"
#include "vectis/store.hpp"

namespace vectis::test {

inline constexpr std::size_t workers = 64;
inline constexpr std::size_t vector_dim = 5;
inline constexpr std::uint64_t ids_each = 1000;  // each thread has its own ids in the shared collection

class MixedWork {
 public:
  // `allowed` decides which errors of a search the test accepts.
  MixedWork(Runtime& runtime, CollectionConfig config, std::function<bool(const Error&)> allowed)
      : runtime_(runtime), config_(std::move(config)), allowed_(std::move(allowed)), store_(runtime) {
    config_.dim = vector_dim;
    config_.metric = Metric::l2;
    store_.create_collection("shared", config_);
    for (std::size_t i = 0; i < workers; ++i) models_.emplace_back(vector_dim, Metric::l2);
  }

  // Runs all threads and prints what they did. Each thread calls `before_step` before each of its steps.
  void run(int steps, const std::function<void(Random&)>& before_step = [](Random&) {}) {
    std::vector<std::thread> threads;
    std::latch start(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      threads.emplace_back([this, i, steps, &start, &before_step] {
        Random random(seed() * workers + i);
        start.arrive_and_wait();
        for (int step = 0; step < steps; ++step) {
          before_step(random);
          act(i, random);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::cout << config_.index << ", " << workers << " threads:";
    for (std::size_t i = 0; i < actions; ++i) std::cout << ' ' << counts_[i] << ' ' << action_names[i];
    std::cout << ", " << failed_searches_ << " searches failed\n";
  }

  // Expects that the shared collection holds, and finds, the vectors of all threads.
  void expect_all() const {
    BruteForce all(vector_dim, Metric::l2);
    for (const BruteForce& one : models_) {
      for (const auto& [id, vector] : one.rows()) all.put(id, vector);
    }
    Random random(seed());
    expect_collection(store_.collection("shared"), all, random_rows(random, 20, vector_dim), 15);
  }

 private:
  enum Action : std::size_t { add, upsert, remove, get, search, save, load, create, drop, list, actions };
  static constexpr std::array<const char*, actions> action_names{"add",  "upsert", "remove", "get",  "search",
                                                                 "save", "load",   "create", "drop", "list"};

  void act(std::size_t worker, Random& random) {
    // Saving and loading are slow, so they are rare.
    const auto action = static_cast<Action>(random.below(8) == 0 ? random.below(actions) : random.below(save));
    ++counts_[action];
    switch (action) {
      case add:
      case upsert:
      case remove:
        return change(worker, action, random);
      case get:
        return read(worker, random);
      case search:
        return find(random);
      case save:
      case load:
        return copy(action == load);
      default:
        return manage(action, random);
    }
  }

  void change(std::size_t worker, Action action, Random& random) {
    Collection shared = store_.collection("shared");
    BruteForce& model = models_[worker];
    Ids ids = some_ids(random, 1 + random.below(6), 40);
    for (std::uint64_t& id : ids) id += worker * ids_each;
    if (action == remove) {
      std::size_t removed = 0;
      for (const std::uint64_t id : ids) removed += static_cast<std::size_t>(model.remove(id));
      EXPECT_EQ(shared.remove(ids), removed);
      return;
    }
    if (action == add) std::erase_if(ids, [&](std::uint64_t id) { return model.rows().contains(id); });
    const Floats values = random_rows(random, ids.size(), vector_dim);
    action == add ? shared.add(ids, values) : shared.upsert(ids, values);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      model.put(ids[i], std::span(values).subspan(i * vector_dim, vector_dim));
    }
  }

  // No other thread changes the ids of this one.
  void read(std::size_t worker, Random& random) {
    const std::uint64_t id = worker * ids_each + random.below(40);
    const auto row = models_[worker].rows().find(id);
    const auto expected = row == models_[worker].rows().end() ? std::nullopt : std::optional(row->second);
    EXPECT_EQ(store_.collection("shared").get(id), expected);
  }

  void find(Random& random) {
    const Floats queries = random_rows(random, 1 + random.below(3), vector_dim);
    SearchResult found;
    try {
      found = store_.collection("shared").search(queries, 10);
    } catch (const Error& error) {
      EXPECT_TRUE(allowed_(error)) << error.what();
      ++failed_searches_;
    }
    for (std::size_t query = 0; query < found.queries(); ++query) {
      const auto hits = hits_of(found, query);
      EXPECT_TRUE(std::ranges::is_sorted(hits, {}, [](const Hit& hit) { return std::pair(hit.distance, hit.id); }));
      Ids ids;
      for (const Hit& hit : hits) ids.push_back(hit.id);
      std::ranges::sort(ids);
      EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
    }
  }

  void copy(bool read_back) {
    MemoryWriter writer;
    store_.save(writer);
    if (!read_back) return;
    MemoryReader reader(writer.bytes());
    const VectorStore again = VectorStore::load(reader, runtime_);
    EXPECT_LE(again.collection("shared").size(), workers * 40);
  }

  // Creates, drops and lists collections while other threads use them.
  void manage(Action action, Random& random) {
    const std::string name = "passing-" + std::to_string(random.below(4));
    try {
      if (action == create) {
        Collection made = store_.create_collection(name, config_);
        made.add(random_rows(random, 3, vector_dim));
        EXPECT_LE(made.search(random_rows(random, 1, vector_dim), 5)[0].size(), 3U + workers);
      } else if (action == drop) {
        store_.drop_collection(name);
      } else {
        for (const std::string& listed : store_.list_collections()) {
          if (const auto found = store_.find_collection(listed)) {
            EXPECT_EQ(found->metadata().name, listed);
            (void)found->search(random_rows(random, 1, vector_dim), 2);
          }
        }
      }
    } catch (const Error& error) {  // another thread dropped the collection, or took its name
      EXPECT_TRUE(error.code() == ErrorCode::invalid_input || allowed_(error)) << error.what();
    }
  }

  Runtime& runtime_;
  CollectionConfig config_;
  std::function<bool(const Error&)> allowed_;
  VectorStore store_;
  std::vector<BruteForce> models_;  // one for each thread
  std::array<std::atomic<int>, actions> counts_{};
  std::atomic<int> failed_searches_ = 0;
};

}  // namespace vectis::test
