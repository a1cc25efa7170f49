// Names in arguments: metrics, precisions and paths.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "vectis/base/dtype.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::python {

// Returns the metric of this name; throws InvalidInput, naming `op` and all metrics, when there is none.
Metric parse_metric_name(std::string_view text, std::string_view op);
// Returns the precision of this name; throws InvalidInput, naming `op` and all precisions, when there is none.
Precision parse_precision(std::string_view text, std::string_view op);
// Returns the path of a str, bytes or os.PathLike; raises TypeError for other objects. Needs the GIL.
std::string file_path(nanobind::handle path);

}  // namespace vectis::python
