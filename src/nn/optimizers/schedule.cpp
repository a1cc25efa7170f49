#include "vectis/nn/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "nn/check.hpp"
#include "nn/optimizers/options.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view schedule_op = "schedule";

void check_steps(std::string_view what, std::int64_t steps, std::int64_t least) {
  if (steps >= least) return;
  throw_invalid(schedule_op, fmt::format("{} is {}, it must be at least {}", what, steps, least));
}

}  // namespace

Schedule warm_up(std::int64_t steps, Schedule after) {
  check_steps("steps", steps, 0);
  return [steps, after = std::move(after)](std::int64_t step) {
    if (step < steps) return static_cast<double>(step + 1) / static_cast<double>(steps);
    return after ? after(step - steps) : 1.0;
  };
}

Schedule cosine(std::int64_t steps, double final) {
  check_steps("steps", steps, 1);
  check_not_negative(schedule_op, "the final factor", final);
  return [steps, final](std::int64_t step) {
    const double share = static_cast<double>(std::min(step, steps)) / static_cast<double>(steps);
    return final + (1 - final) * (1 + std::cos(std::numbers::pi * share)) / 2;
  };
}

Schedule step_decay(std::int64_t every, double factor) {
  check_steps("every", every, 1);
  if (!std::isfinite(factor) || factor <= 0) {
    throw_invalid(schedule_op, fmt::format("the factor is {}, it must be finite and above 0", factor));
  }
  return [every, factor](std::int64_t step) { return std::pow(factor, static_cast<double>(step / every)); };
}

PlateauSchedule::PlateauSchedule(const PlateauOptions& options) : options_(options) {
  if (!(options.factor > 0 && options.factor < 1)) {
    throw_invalid(schedule_op,
                  fmt::format("the factor of a plateau is {}, it must be between 0 and 1", options.factor));
  }
  check_steps("patience", options.patience, 0);
  check_steps("cooldown", options.cooldown, 0);
  check_not_negative(schedule_op, "threshold", options.threshold);
  check_not_negative(schedule_op, "factor_min", options.factor_min);
}

double PlateauSchedule::observe(double loss) {
  if (loss < best_ * (1 - options_.threshold)) {
    best_ = loss;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ > options_.patience) {
    factor_ = std::max(factor_ * options_.factor, std::min(factor_, options_.factor_min));
    cooldown_ = options_.cooldown;
    bad_epochs_ = 0;
  }
  return factor_;
}

StateDict PlateauSchedule::state_dict() const {
  StateDict state;
  state.add("factor", array::full({}, factor_, DType::float64));
  state.add("best", array::full({}, best_, DType::float64));
  state.add("bad_epochs", array::full({}, bad_epochs_, DType::int64));
  state.add("cooldown", array::full({}, cooldown_, DType::int64));
  return state;
}

void PlateauSchedule::load_state_dict(const StateDict& state) {
  PlateauSchedule loaded(options_);
  loaded.factor_ = state.at("factor").item();
  loaded.best_ = state.at("best").item();
  loaded.bad_epochs_ = state.at("bad_epochs").item<std::int64_t>();
  loaded.cooldown_ = state.at("cooldown").item<std::int64_t>();
  *this = loaded;
}

}  // namespace vectis::inline v0_1::nn
