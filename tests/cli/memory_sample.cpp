// A program with a typical allocation pattern: weights that stay, buffers of training steps, an index that grows in
// small steps, and finally a request that is too large. Writes the snapshot of that error to the folder in its argument
// and prints the path of the HTML page.
#include <chrono>
#include <iostream>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "vectis/memory/pool.hpp"

namespace {

using namespace vectis;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr int cpu = 0;

class Sample {
 public:
  explicit Sample(const std::string& folder) : runtime_(options(folder)), pool_(memory_pool(runtime_)) {
    pool_.set_max_pool_size(cpu, 640 * mebibyte);
  }

  void run() {
    for (const std::size_t count : {24U, 24U, 12U, 48U, 6U}) keep(count * mebibyte, Precision::fp16, "weights");
    for (int step = 0; step < 24; ++step) {
      train(step);
      grow_index();
      std::this_thread::sleep_for(std::chrono::milliseconds(12));
    }
    for (int i = 0; i < 6; ++i) keep(1500 + 90000 * random_below(9), Precision::int8, "</script><b>search 'q' & co");
    keep(333'333, Precision::fp32, "");
    leave_gaps();
  }

  std::string fail() {
    try {
      const ManagedBuffer huge = take(320 * mebibyte, Precision::int8, "evaluation batch");
    } catch (const OutOfMemoryError& error) {
      return error.report().snapshot_path;
    }
    return {};
  }

 private:
  static RuntimeOptions options(const std::string& folder) {
    RuntimeOptions options;
    options.settings = {{"gpu.enabled", "false"}, {"memory.snapshots", folder}};
    return options;
  }
  std::size_t random_below(std::size_t end) { return random_() % end; }

  ManagedBuffer take(std::size_t elements, Precision precision, const std::string& tag) {
    return pool_.get_managed_buffer(cpu, elements, precision, {.context = Context{}.with_memory_tag(tag)});
  }
  void keep(std::size_t elements, Precision precision, const std::string& tag) {
    kept_.push_back(take(elements, precision, tag));
  }

  void train(int step) {
    std::vector<ManagedBuffer> activations;
    for (std::size_t layer = 0; layer < 14; ++layer) {
      activations.push_back(take((1 + (layer * 5 + 3) % 7) * mebibyte / 2, Precision::fp32, "activations"));
      const ManagedBuffer workspace = take((2 + layer % 3) * mebibyte / 4, Precision::fp32, "workspace");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (; !activations.empty(); activations.pop_back()) {
      if (step % 6 == 0) keep(mebibyte / 5, Precision::fp32, "gradients");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void grow_index() {
    for (int i = 0; i < 80; ++i) index_.push_back(take(300 + random_below(30'000), Precision::int8, "index"));
    for (int i = 0; i < 30; ++i) {
      std::swap(index_[random_below(index_.size())], index_.back());
      index_.pop_back();
    }
  }

  void leave_gaps() {
    std::vector<ManagedBuffer> left;
    for (std::size_t i = 0; i < index_.size(); ++i) {
      if (i % 3 != 0) left.push_back(std::move(index_[i]));
    }
    index_ = std::move(left);
    std::vector<ManagedBuffer> held;
    held.reserve(12);
    for (std::size_t i = 0; i < 12; ++i) held.push_back(take((i + 3) * mebibyte, Precision::int8, "activations"));
    for (std::size_t i = 0; i < held.size(); i += 2) kept_.push_back(std::move(held[i]));
  }

  Runtime runtime_;
  MemoryPool& pool_;
  std::mt19937_64 random_{7};
  std::vector<ManagedBuffer> kept_;
  std::vector<ManagedBuffer> index_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Sample sample(argv[1]);
  sample.run();
  const std::string page = sample.fail();
  std::cout << page << '\n';
  return page.empty() ? 1 : 0;
}
