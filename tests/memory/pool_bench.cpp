// Cost of acquire and release on the fast path, relative to an uncontended mutex, and throughput of eight threads
// relative to the same pool behind one mutex. Prints medians of interleaved runs as JSON.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "vectis/device.hpp"
#include "vectis/memory.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_each(int count, const std::function<void()>& body) {
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) body();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / count;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Millions of acquire + release a second by `threads` threads, each with its own size.
double throughput(vectis::MemoryPool& pool, int device, int threads, std::mutex* around) {
  std::atomic<std::uint64_t> total{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int number = 0; number < threads; ++number) {
    workers.emplace_back([&, number] {
      std::uint64_t done = 0;
      const auto locked = [&] {
        return around == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(*around);
      };
      for (; !stop; ++done) {
        auto lock = locked();
        vectis::ManagedBuffer buffer =
            pool.get_managed_buffer(device, static_cast<std::size_t>(number + 1) * 4096, vectis::Precision::int8);
        lock = {};
        lock = locked();
        buffer.release();
      }
      total += done;
    });
  }
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  stop = true;
  for (std::thread& worker : workers) worker.join();
  return static_cast<double>(total) / std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

int main() {
  vectis::Runtime runtime;
  vectis::MemoryPool& pool = vectis::memory_pool(runtime);
  const int device = runtime.service<vectis::DeviceRegistry>().find("cpu")->id();
  std::mutex mutex;
  nlohmann::ordered_json report;
  double worst = 0;
  for (std::uint64_t bytes = 256; bytes <= std::uint64_t{1} << 30; bytes *= 4) {
    const auto use = [&] { static_cast<void>(pool.get_managed_buffer(device, bytes, vectis::Precision::int8)); };
    const auto lock = [&] { const std::lock_guard guard(mutex); };
    use();
    std::vector<double> pairs;
    std::vector<double> uses;
    for (int round = 0; round < 15; ++round) {
      pairs.push_back(nanoseconds_each(20000, lock));
      uses.push_back(nanoseconds_each(20000, use));
    }
    const double ratio = median(uses) / median(pairs);
    worst = std::max(worst, ratio);
    report["sizes"].push_back({{"bytes", bytes}, {"ns", median(uses)}, {"mutex_ns", median(pairs)}, {"ratio", ratio}});
  }
  std::vector<double> sharded;
  std::vector<double> behind_one;
  for (int round = 0; round < 9; ++round) {
    sharded.push_back(throughput(pool, device, 8, nullptr));
    behind_one.push_back(throughput(pool, device, 8, &mutex));
  }
  report["worst_mutex_pairs"] = worst;
  report["eight_threads_millions"] = median(sharded);
  report["eight_threads_one_mutex_millions"] = median(behind_one);
  report["eight_threads_ratio"] = median(sharded) / median(behind_one);
  std::cout << report.dump(2) << '\n';
  return 0;
}
