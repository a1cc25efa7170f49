// Sixty-four threads of mixed work on one store.
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
inline constexpr std::size_t scene_dim = 5;
inline constexpr std::uint64_t ids_each = 1000;  // every thread has ids of its own in collections that all share

class MixedWork {
 public:
  // `allowed` says of what a search throws whether it may.
  MixedWork(Runtime& runtime, CollectionConfig config, std::function<bool(const Error&)> allowed)
      : runtime_(runtime), config_(std::move(config)), allowed_(std::move(allowed)), store_(runtime) {
    config_.dim = scene_dim;
    config_.metric = Metric::l2;
    store_.create_collection("shared", config_);
    for (std::size_t i = 0; i < workers; ++i) truths_.emplace_back(scene_dim, Metric::l2);
  }

  // Runs all threads, which call `between` before each of their steps, and prints what they did.
  void run(int steps, const std::function<void(Random&)>& between = [](Random&) {}) {
    std::vector<std::thread> threads;
    std::latch start(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      threads.emplace_back([this, i, steps, &start, &between] {
        Random random(seed() * workers + i);
        start.arrive_and_wait();
        for (int step = 0; step < steps; ++step) {
          between(random);
          act(i, random);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::cout << config_.index << ", " << workers << " threads:";
    for (std::size_t i = 0; i < deeds; ++i) std::cout << ' ' << counts_[i] << ' ' << deed_names[i];
    std::cout << ", " << refused_ << " searches refused\n";
  }

  // The shared collection holds what the threads remember, and finds it.
  void expect_all() const {
    BruteForce all(scene_dim, Metric::l2);
    for (const BruteForce& one : truths_) {
      for (const auto& [id, vector] : one.rows()) all.put(id, vector);
    }
    Random random(seed());
    expect_collection(store_.collection("shared"), all, random_rows(random, 20, scene_dim), 15);
  }

 private:
  enum Deed : std::size_t { insert, upsert, erase, get, search, save, load, create, drop, look, deeds };
  static constexpr std::array<const char*, deeds> deed_names{"insert", "upsert", "erase",  "get",  "search",
                                                             "save",   "load",   "create", "drop", "look"};

  void act(std::size_t worker, Random& random) {
    // Saving and loading take long beside the others.
    const auto deed = static_cast<Deed>(random.below(8) == 0 ? random.below(deeds) : random.below(save));
    ++counts_[deed];
    switch (deed) {
      case insert:
      case upsert:
      case erase:
        return change(worker, deed, random);
      case get:
        return read(worker, random);
      case search:
        return find(random);
      case save:
      case load:
        return copy(deed == load);
      default:
        return manage(deed, random);
    }
  }

  void change(std::size_t worker, Deed deed, Random& random) {
    Collection shared = store_.collection("shared");
    BruteForce& truth = truths_[worker];
    Ids ids = some_ids(random, 1 + random.below(6), 40);
    for (std::uint64_t& id : ids) id += worker * ids_each;
    if (deed == erase) {
      std::size_t there = 0;
      for (const std::uint64_t id : ids) there += static_cast<std::size_t>(truth.remove(id));
      EXPECT_EQ(shared.remove(ids), there);
      return;
    }
    if (deed == insert) std::erase_if(ids, [&](std::uint64_t id) { return truth.rows().contains(id); });
    const Floats numbers = random_rows(random, ids.size(), scene_dim);
    deed == insert ? shared.add(ids, numbers) : shared.upsert(ids, numbers);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      truth.put(ids[i], std::span(numbers).subspan(i * scene_dim, scene_dim));
    }
  }

  // Nobody else changes this thread's ids.
  void read(std::size_t worker, Random& random) {
    const std::uint64_t id = worker * ids_each + random.below(40);
    const auto row = truths_[worker].rows().find(id);
    const auto expected = row == truths_[worker].rows().end() ? std::nullopt : std::optional(row->second);
    EXPECT_EQ(store_.collection("shared").get(id), expected);
  }

  void find(Random& random) {
    const Floats queries = random_rows(random, 1 + random.below(3), scene_dim);
    SearchResult found;
    try {
      found = store_.collection("shared").search(queries, 10);
    } catch (const Error& error) {
      EXPECT_TRUE(allowed_(error)) << error.what();
      ++refused_;
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

  // Collections that come and go under everybody's hands.
  void manage(Deed deed, Random& random) {
    const std::string name = "passing-" + std::to_string(random.below(4));
    try {
      if (deed == create) {
        Collection made = store_.create_collection(name, config_);
        made.add(random_rows(random, 3, scene_dim));
        EXPECT_LE(made.search(random_rows(random, 1, scene_dim), 5)[0].size(), 3U + workers);
      } else if (deed == drop) {
        store_.drop_collection(name);
      } else {
        for (const std::string& listed : store_.list_collections()) {
          if (const auto found = store_.find_collection(listed)) {
            EXPECT_EQ(found->metadata().name, listed);
            (void)found->search(random_rows(random, 1, scene_dim), 2);
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
  std::vector<BruteForce> truths_;  // one for each thread
  std::array<std::atomic<int>, deeds> counts_{};
  std::atomic<int> refused_ = 0;
};

}  // namespace vectis::test
