#include "nn/training/running_means.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view metric_prefix = "metric.";
// Results are read together, since reading waits for the device.
constexpr std::size_t added_max = 256;

std::vector<double> numbers_of(const Tensor& values) {
  if (values.dtype() == DType::float64) return values.to_cpu<double>();
  const std::vector<float> numbers = values.to_cpu<float>();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

void RunningMeans::add(const BatchResult& result, std::int64_t examples) {
  std::map<std::string, Tensor, std::less<>> values = {{"loss", result.loss}};
  for (const auto& [name, value] : result.metrics) values.emplace(std::string(metric_prefix) + name, value);
  if (examples_ == 0 && added_.empty() && sums_.empty()) {
    for (const auto& [name, value] : values) sums_[name] = 0;
  }
  if (!std::ranges::equal(
          values, sums_, {}, [](const auto& v) { return v.first; }, [](const auto& s) { return s.first; })) {
    throw_invalid("train", "a batch has other metrics than the one before; return the same metrics for each");
  }
  Added added{.values = {}, .examples = static_cast<double>(examples)};
  for (const auto& [name, value] : values) {
    if (value.is_empty() || value.elements() != 1) {
      throw_invalid("train",
                    fmt::format("'{}' of a batch must be one number, but {}", name,
                                value.is_empty() ? "it is empty" : "its shape is " + to_string(value.shape())));
    }
    const DType type = value.dtype() == DType::float64 ? DType::float64 : DType::float32;
    added.values.push_back(array::stop_gradient(value.reshape({}).astype(type)));
  }
  array::eval(added.values);
  added_.push_back(std::move(added));
  if (added_.size() == added_max) read();
}

void RunningMeans::read() {
  if (added_.empty()) return;
  std::vector<Tensor> all;
  for (const Added& added : added_) all.insert(all.end(), added.values.begin(), added.values.end());
  const bool has_doubles = std::ranges::any_of(all, [](const Tensor& x) { return x.dtype() == DType::float64; });
  for (Tensor& value : all) value = has_doubles ? value.astype(DType::float64) : value;
  const std::vector<double> numbers = numbers_of(array::stack(all));
  std::size_t at = 0;
  for (const Added& added : added_) {
    for (auto& [name, sum] : sums_) sum += numbers[at++] * added.examples;
    examples_ += added.examples;
  }
  added_.clear();
}

Evaluation RunningMeans::means() {
  read();
  Evaluation means;
  for (const auto& [name, sum] : sums_) {
    const double mean = sum / examples_;
    if (name == "loss") {
      means.loss = mean;
    } else {
      means.metrics.emplace(name.substr(metric_prefix.size()), mean);
    }
  }
  return means;
}

void RunningMeans::clear() { *this = {}; }

void RunningMeans::save(const std::string& prefix, Checkpoint& checkpoint) {
  read();
  checkpoint.numbers[prefix + ".examples"] = examples_;
  for (const auto& [name, sum] : sums_) checkpoint.numbers[prefix + ".sum." + name] = sum;
}

void RunningMeans::load(const std::string& prefix, const Checkpoint& checkpoint) {
  clear();
  examples_ = checkpoint.number(prefix + ".examples");
  const std::string sum_prefix = prefix + ".sum.";
  for (const auto& [name, value] : checkpoint.numbers) {
    if (name.starts_with(sum_prefix)) sums_[name.substr(sum_prefix.size())] = value;
  }
}

}  // namespace vectis::inline v0_1::nn
