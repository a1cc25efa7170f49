#include "search/report/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace vectis::inline v0_1::detail {

namespace {

constexpr double counted_depth = 128;       // elements of the vectors for which instructions were counted
constexpr std::uint32_t counted_side = 16;  // work-items along a side of a square tile

constexpr auto counted_kernels = std::to_array<CountedKernel>({
#include "search/report/counted_kernels.inc"
});

constexpr auto cards = std::to_array<Card>({
#include "search/report/cards.inc"
});

std::uint32_t define_of(const KernelSource& source, std::string_view name) {
  std::uint32_t value = 0;
  for (const auto& [defined, text] : source.defines) {
    if (defined == name) std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return value;
}

bool defines(const KernelSource& source, std::string_view name) {
  return std::ranges::any_of(source.defines, [&](const auto& one) { return one.first == name; });
}

double rounded_up(std::uint64_t amount, std::uint32_t unit) {
  return std::ceil(static_cast<double>(amount) / unit) * unit;
}

bool is_known(double rate) { return rate > 0 && std::isfinite(rate); }

double quotient(double amount, double rate) { return is_known(rate) ? amount / rate : 0; }

// Instructions for one multiply-add of a matrix product.
double product_instructions(bool native) {
  if (native) return 1;  // libraries of makers come near to it
  return counted_kernel("matmul f32")->instructions.at(default_architecture).loop / counted_depth;
}

}  // namespace

std::string label_of(const KernelSource& source) {
  std::string label = source.name;
  if (!source.buffers.empty()) label += fmt::format(" {}", short_name(source.buffers[0].element));
  if (source.name == "scan_bounds" && source.buffers[1].element != source.buffers[0].element) {
    label += fmt::format(" by {}", short_name(source.buffers[1].element));
  }
  if (defines(source, "QUERIES")) {
    label += fmt::format(", {} x {}", define_of(source, "ROWS"), define_of(source, "QUERIES"));
    if (source.body.find("lane + left") != std::string::npos) label += ", any alignment";
  }
  if (defines(source, "CUDA_ARCHITECTURES")) {
    const auto by_matrix_units = source.overrides.find(Dialect::cuda);
    const bool by_pairs =
        by_matrix_units != source.overrides.end() && by_matrix_units->second.find("_pairs") != std::string::npos;
    label += by_pairs ? ", mma" : ", mma by words";
  }
  return label;
}

std::optional<CountedKernel> counted_kernel(std::string_view label) noexcept {
  const auto* const found = std::ranges::find(counted_kernels, label, &CountedKernel::label);
  return found == counted_kernels.end() ? std::nullopt : std::optional(*found);
}

std::optional<Card> known_card(const DeviceInfo& info) noexcept {
  const auto* const found = std::ranges::find_if(cards, [&](const Card& card) {
    return info.name.find(card.driver_name) != std::string::npos &&
           (info.compute_units == card.units || info.compute_units == 0);
  });
  return found == cards.end() ? std::nullopt : std::optional(*found);
}

ModelRates model_rates(const DeviceInfo& info, const DeviceProfile& profile, const CallCosts& costs) {
  ModelRates rates;
  rates.launch_seconds = costs.launch_seconds;
  rates.copy_seconds = costs.copy_seconds;
  rates.wait_seconds = costs.wait_seconds;
  rates.copy_bytes_per_second = std::min(profile.to_device.bytes_per_second, profile.to_host.bytes_per_second);
  if (const std::optional<Card> card = known_card(info)) {
    rates.source = fmt::format("the figures of the maker of {}", card->name);
    rates.architecture = card->architecture;
    rates.memory_bytes_per_second = card->memory_bytes;
    rates.instructions_per_second = card->instructions;
    rates.fused_per_second = card->fused;
    rates.dots_per_second = card->dots;
    rates.matrix_per_second = card->matrix;
    return rates;
  }
  rates.source = "measured at calibration, since the figures of the maker are not known";
  rates.architecture = default_architecture;
  rates.memory_bytes_per_second = profile.memory_bytes_per_second;
  rates.instructions_per_second = profile.operations_per_second.fp32 / 2 * product_instructions(costs.native_products);
  return rates;
}

bool add_kernel(JobCounts& counts, const KernelSource& source, const ResultShape& shape, const ModelRates& rates) {
  const std::optional<CountedKernel> kernel = counted_kernel(label_of(source));
  const bool square = defines(source, "TILE");
  if (!kernel || (square && define_of(source, "SIDE") != counted_side)) return false;
  const double results = rounded_up(shape.rows, define_of(source, square ? "TILE" : "ROWS")) *
                         rounded_up(shape.columns, define_of(source, square ? "TILE" : "QUERIES"));
  const double depth = rounded_up(shape.depth, kernel->round);
  const CountedInstructions& each = kernel->instructions.at(rates.architecture);
  counts.instructions += results * (each.loop * depth / counted_depth + each.rest);
  switch (kernel->unit) {
    case Unit::fused:
      counts.fused += results * depth;
      break;
    case Unit::dots:
      counts.dots += results * depth / 4;
      break;
    case Unit::matrix:
      counts.matrix += results * depth;
      break;
    case Unit::none:
      break;
  }
  return true;
}

JobPrediction predict(const JobCounts& counts, const ModelRates& rates) {
  JobPrediction made;
  made.counts = counts;
  for (const auto& [what, rate] :
       {std::pair("memory", rates.memory_bytes_per_second), std::pair("instructions", rates.instructions_per_second)}) {
    if (is_known(rate)) continue;
    made.missing = fmt::format("the device's rate of {} is {}, which no measurement gives", what, rate);
    return made;
  }
  made.missing.clear();
  made.memory_seconds = quotient(counts.bytes, rates.memory_bytes_per_second);
  made.issue_seconds = quotient(counts.instructions, rates.instructions_per_second);
  made.unit_seconds = quotient(counts.fused, rates.fused_per_second) + quotient(counts.dots, rates.dots_per_second) +
                      quotient(counts.matrix, rates.matrix_per_second);
  made.host_seconds = static_cast<double>(counts.launches) * rates.launch_seconds +
                      static_cast<double>(counts.copies) * rates.copy_seconds +
                      quotient(counts.copied_bytes, rates.copy_bytes_per_second) + rates.wait_seconds;
  const double device = std::max({made.memory_seconds, made.issue_seconds, made.unit_seconds});
  made.seconds = device + made.host_seconds;
  made.wall = made.host_seconds > device      ? "host"
              : made.memory_seconds == device ? "memory"
              : made.issue_seconds == device  ? "issue"
              : counts.matrix > 0             ? "mma"
              : counts.dots > 0               ? "dp4a"
                                              : "FFMA";
  return made;
}

}  // namespace vectis::inline v0_1::detail
