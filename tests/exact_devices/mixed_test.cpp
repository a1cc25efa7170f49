// Segments of different distributions that grow, lose rows and are searched as older snapshots.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "tests/exact_devices/fixture.hpp"
#include "tests/exact_devices/problems.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

int mixed_rounds() {
  const char* text = std::getenv("VECTIS_TEST_MIXED");
  return text == nullptr ? 20 : std::atoi(text);
}

// Rows of several segments with ids of their own, and what brute force finds in views of them.
struct Mixed {
  struct One {
    std::unique_ptr<exact::Segment> segment;
    double scale = 1;
    double shift = 0;
  };
  std::size_t dim = 1;
  Metric metric = Metric::l2;
  Precision precision = Precision::int8;
  std::vector<One> segments;
  std::vector<std::vector<exact::SegmentView>> snapshots;
  std::uint64_t next_id = 0;
};

class MixedSegments : public ExactDevicesTest {
 protected:
  std::vector<float> rows_of(Random& own, const Mixed& mixed, const Mixed::One& one, std::size_t rows) {
    std::vector<float> made = cloud(own, rows * mixed.dim, one.scale, one.shift);
    for (float& value : made) value = std::clamp(value, -3e38F, 3e38F);
    if (own.below(4) == 0 && rows > 3) {  // duplicates
      for (std::size_t row = 1; row < rows; row += 1 + own.below(3)) {
        std::copy_n(made.begin(), mixed.dim, made.begin() + static_cast<std::ptrdiff_t>(row * mixed.dim));
      }
    }
    return made;
  }
  void add_segment(Random& own, Mixed& mixed, double scale) {
    Mixed::One one;
    one.scale = own.below(5) == 0 ? std::pow(10.0, -30 + 60 * own.unit()) : scale;
    one.shift = own.below(2) == 0 ? 0 : one.scale * own.unit() * (own.below(2) == 0 ? 0.3 : 50);
    const std::size_t rows = own.below(4) == 0 ? 1 : even_size(own, own.below(4) == 0 ? 9000 : 600);
    const std::vector<float> vectors = rows_of(own, mixed, one, rows);
    std::vector<std::uint64_t> ids(rows);
    for (std::uint64_t& id : ids) id = mixed.next_id++;
    one.segment = std::make_unique<exact::Segment>(runtime().executor(), mixed.metric, mixed.precision, mixed.dim,
                                                   rows + own.below(800), vectors, ids);
    mixed.segments.push_back(std::move(one));
  }
  void grow(Random& own, Mixed& mixed) {
    Mixed::One& one = mixed.segments[own.below(mixed.segments.size())];
    const std::size_t room = one.segment->capacity() - one.segment->rows();
    if (room == 0) return;
    const std::size_t rows = 1 + own.below(room);
    std::vector<std::uint64_t> ids(rows);
    for (std::uint64_t& id : ids) id = mixed.next_id++;
    one.segment->append(runtime().executor(), rows_of(own, mixed, one, rows), ids);
  }
  void snapshot(Random& own, Mixed& mixed) {
    std::vector<exact::SegmentView> views;
    for (const Mixed::One& one : mixed.segments) {
      views.push_back(one.segment->view());
      if (own.below(3) != 0) continue;
      const auto bits = std::make_shared<std::uint64_t[]>(views.back().rows / 64 + 1);
      const std::uint64_t kind = own.below(3);
      for (std::size_t i = 0; i <= views.back().rows / 64; ++i) {
        bits.get()[i] = kind == 0 ? ~std::uint64_t{0} : kind == 1 ? own.next() : own.next() & own.next() & own.next();
      }
      views.back().removed = bits;
    }
    mixed.snapshots.push_back(std::move(views));
  }
  std::vector<Hit> truth_of(const exact::SearchTask& of, std::size_t query) {
    std::vector<Hit> hits;
    std::vector<float> vector(of.dim);
    for (const exact::SegmentView& view : of.segments) {
      for (std::size_t row = 0; row < view.rows; ++row) {
        if (!of.allows(view, row)) continue;
        view.read_row(row, vector.data());
        const double distance = exact_distance(of.metric, {of.query(query), of.dim}, vector);
        if (!of.options->radius || distance <= *of.options->radius) hits.push_back({view.ids[row], distance});
      }
    }
    std::ranges::sort(hits, [](const Hit& a, const Hit& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
    });
    if (hits.size() > of.k) hits.resize(of.k);
    return hits;
  }
  void search_one(Random& own, const Mixed& mixed, double scale, exact::DeviceSearch& devices) {
    const auto& views =
        mixed.snapshots[own.below(3) == 0 ? own.below(mixed.snapshots.size()) : mixed.snapshots.size() - 1];
    const std::size_t count = own.below(4) == 0 ? 1 + own.below(60) : 1 + own.below(4);
    std::vector<float> queries = cloud(own, count * mixed.dim, scale, own.below(2) == 0 ? 0 : scale);
    if (own.below(3) == 0) {  // near rows
      for (std::size_t q = 0; q < count; ++q) {
        const exact::SegmentView& view = views[own.below(views.size())];
        view.read_row(own.below(view.rows), queries.data() + q * mixed.dim);
      }
    }
    std::size_t rows = 0;
    for (const auto& view : views) rows += view.rows;
    SearchOptions options;
    std::vector<std::uint64_t> words(mixed.next_id / 64 + 1);
    const std::uint64_t filter = own.below(8);
    for (std::uint64_t& word : words) {
      word = filter == 0   ? 0
             : filter == 1 ? own.next()
             : filter == 2 ? own.next() & own.next() & own.next() & own.next() & own.next() & own.next()
                           : ~std::uint64_t{0};
    }
    if (filter < 4) options.filter = IdFilter::bitmap(words, 0);
    exact::SearchTask of{.segments = views,
                         .dim = mixed.dim,
                         .metric = mixed.metric,
                         .precision = mixed.precision,
                         .queries = queries,
                         .k = own.below(6) == 0   ? 1 + own.below(rows)
                              : own.below(8) == 0 ? 2000
                                                  : even_size(own, 60),
                         .options = &options};
    if (own.below(4) == 0) {
      const auto near = truth_of(of, 0);
      if (!near.empty()) options.radius = near[own.below(near.size())].distance;
    }
    const auto answer =
        devices.search(of, own.below(2) == 0 ? exact::DeviceSplit::shards : exact::DeviceSplit::replicas);
    for (std::size_t q = 0; q < count; ++q) {
      ASSERT_EQ(answer.hits[q], truth_of(of, q))
          << name(mixed.metric) << " " << name(mixed.precision) << " dim " << mixed.dim << " k " << of.k << " query "
          << q << " filter " << filter;
    }
  }
  void play(std::uint64_t number, std::initializer_list<const char*> names) {
    SCOPED_TRACE("round " + std::to_string(number));
    Random own(seed() * 1000 + number);
    exact::DeviceSearch devices = on(names);
    Mixed mixed;
    mixed.dim = even_size(own, 100);
    constexpr Metric metrics[] = {Metric::l2, Metric::l2_squared, Metric::inner_product, Metric::cosine};
    mixed.metric = metrics[own.below(4)];
    mixed.precision = precisions[own.below(4)];
    const double scale = own.below(2) == 0 ? 1 : std::pow(10.0, -30 + 60 * own.unit());
    for (std::uint64_t i = 0; i < 2 + own.below(6); ++i) add_segment(own, mixed, scale);
    snapshot(own, mixed);
    for (int step = 0; step < 10; ++step) {
      const std::uint64_t kind = own.below(5);
      if (kind == 0) add_segment(own, mixed, scale);
      if (kind == 1) grow(own, mixed);
      if (kind == 2 && mixed.segments.size() > 1)
        mixed.segments.erase(mixed.segments.begin() + static_cast<std::ptrdiff_t>(own.below(mixed.segments.size())));
      if (kind == 3 && mixed.snapshots.size() > 2) mixed.snapshots.erase(mixed.snapshots.begin());
      if (own.below(2) == 0) snapshot(own, mixed);
      if (own.below(3) == 0) devices.prepare(mixed.snapshots.back(), exact::DeviceSplit::shards);
      search_one(own, mixed, scale, devices);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(MixedSegments, OnTheProcessor) {
  for (int i = 0; i < mixed_rounds(); ++i) {
    play(static_cast<std::uint64_t>(i), {"cpu"});
    if (HasFatalFailure()) return;
  }
}

TEST_F(MixedSegments, UnderMemoryPressure) {
  MemoryPool& pool = memory_pool(runtime());
  for (int i = 0; i < mixed_rounds(); ++i) {
    Random own(seed() + static_cast<std::uint64_t>(i));
    ASSERT_TRUE(pool.set_max_pool_size(device("failing").id(), (std::uint64_t{1} << 20) * (3 + own.below(20))));
    try {
      play(100 + static_cast<std::uint64_t>(i), {"failing"});
    } catch (const OutOfMemoryError& error) {
      std::cout << "round " << i << " limit " << pool.get_memory_stats(device("failing").id())->limit_bytes << ": "
                << error.what() << '\n';
    }
    if (HasFatalFailure()) return;
    ASSERT_EQ(pool.get_memory_stats(device("failing").id())->in_use_bytes, 0U) << i;
  }
}

#if defined(VECTIS_HAS_OPENCL)
TEST_F(MixedSegments, OnTwoDevices) {
  for (int i = 0; i < mixed_rounds(); ++i) {
    play(200 + static_cast<std::uint64_t>(i), {"opencl:0", "cpu"});
    if (HasFatalFailure()) return;
  }
}
#endif

using MixedSegmentsConcurrent = MixedSegments;

// Searches, copies ahead of searches, and another user of the memory, at the same time.
TEST_F(MixedSegmentsConcurrent, UsersOfTheMemory) {
  MemoryPool& pool = memory_pool(runtime());
  const int id = device("failing").id();
  ASSERT_TRUE(pool.set_max_pool_size(id, (2 + seed() % 8) << 20U));
  exact::DeviceSearch devices = on({"failing"});
  std::vector<std::thread> threads;
  std::atomic<int> left = 4;
  std::atomic<int> refused = 0;
  for (std::uint64_t worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&, worker] {
      Random own(seed() + 77 + worker);
      Mixed mixed;
      mixed.dim = 8;
      for (int i = 0; i < 3; ++i) add_segment(own, mixed, 1);
      snapshot(own, mixed);
      for (int step = 0; step < mixed_rounds(); ++step) {
        if (own.below(3) == 0) grow(own, mixed);
        if (own.below(3) == 0) add_segment(own, mixed, 1);
        if (mixed.segments.size() > 4) mixed.segments.erase(mixed.segments.begin());
        if (mixed.snapshots.size() > 2) mixed.snapshots.erase(mixed.snapshots.begin());
        snapshot(own, mixed);
        try {
          devices.prepare(mixed.snapshots.back(), exact::DeviceSplit::shards);
          search_one(own, mixed, 1, devices);
        } catch (const OutOfMemoryError&) {
          ++refused;
        }
      }
      --left;
    });
  }
  threads.emplace_back([&] {
    Random own(seed());
    while (left > 0) {
      try {
        (void)pool.get_managed_buffer(id, 1000000 + own.below(4000000), Precision::int8);
      } catch (const OutOfMemoryError&) {
      }
      (void)devices.resident_bytes();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread& thread : threads) thread.join();
  std::cout << refused << " searches without memory\n";
}

}  // namespace
}  // namespace vectis::test
