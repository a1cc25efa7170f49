// Means of the numbers of batches, which are read from their device now and then.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vectis/nn/checkpoint.hpp"
#include "vectis/nn/training.hpp"

namespace vectis::inline v0_1::nn {

// Averages results of batches by their numbers of examples, in double precision and in their order. One thread at a
// time.
class RunningMeans {
 public:
  // Throws InvalidInput when a metric is new or missing, or a result is not one number.
  void add(const BatchResult& result, std::int64_t examples);
  // Reads the results that were added. Throws what Tensor::eval() throws.
  [[nodiscard]] Evaluation means();
  void clear();

  // Reads the results and stores the sums as "<prefix>.sum.<name>", or takes them from there.
  void save(const std::string& prefix, Checkpoint& checkpoint);
  void load(const std::string& prefix, const Checkpoint& checkpoint);

 private:
  struct Added {
    std::vector<Tensor> values;  // in the order of sums_
    double examples;
  };
  void read();

  std::map<std::string, double, std::less<>> sums_;  // "loss" and "metric.<name>"
  double examples_ = 0;
  std::vector<Added> added_;
};

}  // namespace vectis::inline v0_1::nn
