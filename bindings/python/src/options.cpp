#include "options.hpp"

#include <fmt/format.h>

#include <array>

#include "errors.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {

Metric parse_metric_name(std::string_view text, std::string_view op) {
  if (const auto metric = parse_metric(text)) return *metric;
  std::string names;
  for (const Metric metric : all_metrics()) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name(metric));
  throw_invalid_input(op, fmt::format("there is no metric '{}'; metrics are {}", text, names));
}

Precision parse_precision(std::string_view text, std::string_view op) {
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    if (name(precision) == text) return precision;
  }
  throw_invalid_input(
      op, fmt::format("there is no precision '{}'; precisions are 'fp32', 'fp16', 'bf16' and 'int8'", text));
}

std::string file_path(nb::handle path) {
  const nb::bytes encoded(nb::module_::import_("os").attr("fsencode")(path));
  return {encoded.c_str(), encoded.size()};
}

}  // namespace vectis::python
