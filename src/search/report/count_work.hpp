// Counts what a job enqueues on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "search/report/model.hpp"
#include "vectis/device/device.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// What a job enqueued: its calls, and the work of the operations it ran. Plain data.
struct EnqueuedWork {
  // A call of a named operation.
  struct Call {
    std::string name;
    double operations = 0;
    double bytes = 0;
  };
  std::uint64_t launches = 0;  // of kernels, and fills
  std::uint64_t copies = 0;
  double copied_bytes = 0;  // between host and device
  bool native = false;      // the backend ran an operation by code of its own
  std::vector<Call> calls;
};

// Runs `job` and returns what it enqueued on the device, also from other threads. Throws what `job` throws.
[[nodiscard]] EnqueuedWork count_work(Runtime& runtime, const Device& device, const std::function<void()>& job);

// Predicts the time of a job that enqueued `work`: one call of `operation` with these views, of which the last is the
// result. Returns a reason instead when its kernels were not counted. Throws std::bad_alloc.
[[nodiscard]] JobPrediction predict_operation(const EnqueuedWork& work, const Operation& operation,
                                              std::span<const View> views, const DeviceInfo& info,
                                              const ModelRates& rates);

// An exact search. Plain data.
struct SearchShape {
  Precision precision = Precision::fp32;
  std::uint64_t rows = 0;
  std::uint64_t queries = 0;
  std::uint64_t dim = 0;
};
// Predicts the time of an exact search that enqueued `work` on `device`. Returns a reason instead when its kernels were
// not counted, or it did not scan all queries together. Throws the error of the device.
[[nodiscard]] JobPrediction predict_search(const EnqueuedWork& work, const SearchShape& shape, const Device& device,
                                           const ModelRates& rates);

}  // namespace vectis::inline v0_1::detail
