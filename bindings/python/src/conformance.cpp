// vectis.conformance().
#include "vectis/kernel/conformance.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "calls.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "html.hpp"
#include "text.hpp"

namespace nb = nanobind;
namespace suite = vectis::conformance;
using namespace nb::literals;

namespace vectis::python {
namespace {

suite::Coverage parse_coverage(std::string_view text) {
  if (text == "slice") return suite::Coverage::slice;
  if (text == "standard") return suite::Coverage::standard;
  if (text == "full") return suite::Coverage::full;
  throw_invalid_input("conformance",
                      fmt::format("there is no coverage '{}'; write 'slice', 'standard' or 'full'", text));
}

suite::Report test_device(const DeviceArgument& device, const std::string& operations, std::string_view coverage,
                          std::uint64_t seed, const std::string& case_name, bool stop_at_failure, nb::handle progress) {
  suite::Options options;
  options.operations = operations;
  options.case_name = case_name;
  options.seed = seed;
  options.coverage = parse_coverage(coverage);
  options.stop_at_failure = stop_at_failure;
  const PyDevice found = find_device(device);
  const Call call({.progress = progress, .elements = std::numeric_limits<std::size_t>::max()});
  options.progress = [&](const std::string& what, std::size_t done, std::size_t all) {
    call.context().check("conformance", found.runtime->executor());
    call.context().report_progress(what, done, all);
  };
  return call.run([&](const Context&) { return suite::test(*found.runtime, found.device, options); });
}

std::string verdict(const suite::Line& line) {
  if (line.failures != 0) return "failed";
  if (line.not_offered != 0) return line.partly_offered() ? "partly offered" : "not offered";
  return line.cases == 0 ? "no case ran" : "passed";
}

std::string report_csv(const suite::Report& report) {
  std::ostringstream out;
  suite::write_csv(out, report);
  return std::move(out).str();
}

std::string total_text(const suite::Report& report) {
  return fmt::format("{}: {} cases, {} failures, seed {}", report.device, report.cases(), report.failed(), report.seed);
}

std::string report_text(const suite::Report& report) {
  std::string text;
  for (const suite::Line& line : report.lines) {
    text += fmt::format("{:<18} {:<24} {:>7} cases  {}\n", line.operation, line.types, line.cases, verdict(line));
  }
  for (const suite::Failure& failure : report.failures) {
    text += fmt::format("{} {}\n  {}\n", failure.operation, failure.case_name, failure.what);
  }
  return text + total_text(report);
}

std::string report_html(const suite::Report& report) {
  std::vector<TableRow> rows;
  rows.reserve(report.lines.size());
  for (const suite::Line& line : report.lines) {
    rows.push_back({line.operation, line.types, fmt::to_string(line.cases), fmt::to_string(line.failures),
                    fmt::format("{:.2e}", line.worst), line.limit == 0 ? "exact" : fmt::format("{:.2e}", line.limit),
                    verdict(line)});
  }
  return fmt::format("<p>{}</p>", escape_html(total_text(report))) +
         html_table({"operation", "types", "cases", "failures", "worst error", "limit", "verdict"}, rows);
}

void bind_lines(nb::module_& module) {
  nb::class_<suite::Line>(module, "ConformanceLine", "The result of one operation with one combination of types.")
      .def_ro("operation", &suite::Line::operation, "Name of the operation, or of a test of streams, memory, ...")
      .def_ro("types", &suite::Line::types)
      .def_ro("cases", &suite::Line::cases, "Cases that ran.")
      .def_ro("failures", &suite::Line::failures, "Of them: with a wrong result or an error.")
      .def_ro("skipped", &suite::Line::skipped, "Cases without enough free memory.")
      .def_ro("not_offered", &suite::Line::not_offered, "Calls that the device does not offer.")
      .def_ro("worst", &suite::Line::worst, "Largest error measured.")
      .def_ro("limit", &suite::Line::limit, "Largest error allowed; 0: results must be exact.")
      .def_ro("error_of", &suite::Line::error_of, "What errors are divided by.")
      .def_ro("worst_case", &suite::Line::worst_case, "Name of the case with the largest error.")
      .def_prop_ro("passed", &suite::Line::passed)
      .def("__repr__", [](const suite::Line& self) {
        return fmt::format("ConformanceLine(operation='{}', types='{}', cases={}, failures={})", self.operation,
                           self.types, self.cases, self.failures);
      });
  nb::class_<suite::Failure>(module, "ConformanceFailure", "A case that failed.")
      .def_ro("operation", &suite::Failure::operation)
      .def_ro("case_name", &suite::Failure::case_name)
      .def_ro("what", &suite::Failure::what, "What was wrong.")
      .def("__repr__", [](const suite::Failure& self) {
        return fmt::format("ConformanceFailure(operation='{}', case_name='{}', what='{}')", self.operation,
                           self.case_name, self.what);
      });
}

}  // namespace

void bind_conformance(nb::module_& module) {
  bind_lines(module);
  nb::class_<suite::Report>(module, "ConformanceReport", "The result of conformance().")
      .def_ro("device", &suite::Report::device)
      .def_ro("seed", &suite::Report::seed)
      .def_ro("lines", &suite::Report::lines, "A line for each operation and combination of types.")
      .def_ro("failures", &suite::Report::failures, "At most five for each line.")
      .def_prop_ro("passed", &suite::Report::passed, "Whether at least one case ran and none failed.")
      .def_prop_ro("complete", &suite::Report::complete, "Whether the device offers all that was tested.")
      .def_prop_ro("cases", &suite::Report::cases, "Cases that ran.")
      .def_prop_ro("failed", &suite::Report::failed, "Cases that failed.")
      .def("to_csv", &report_csv, "Return the lines as CSV with a header.")
      .def("__str__", &report_text)
      .def("__repr__", &report_text)
      .def("_repr_html_", &report_html);
  module.def("conformance", &test_device, "device"_a = "cpu", nb::kw_only(), "operations"_a = ".*",
             "coverage"_a = "slice", "seed"_a = 1, "case_name"_a = "", "stop_at_failure"_a = false,
             "progress"_a = nb::none(),
             nb::sig("def conformance(device: Device | int | str = 'cpu', *, operations: str = '.*', coverage: str = "
                     "'slice', seed: int = 1, case_name: str = '', stop_at_failure: bool = False, progress: "
                     "typing.Any = None) -> ConformanceReport"),
             "Test every operation on a device against a reference in double precision.\n\n"
             "operations: a regular expression that matches whole names.\n"
             "coverage: 'slice' (about a minute), 'standard', or 'full', which needs much memory.\n"
             "seed: of the test data.\n"
             "case_name: run this case alone.\n"
             "progress: as in Index.add().\n\n"
             "Wrong results are failures in the report, not exceptions.");
}

}  // namespace vectis::python
