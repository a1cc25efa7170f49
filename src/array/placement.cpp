#include "vectis/array/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "array/element_code.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "vectis/base/format.hpp"

namespace vectis::inline v0_1::array {

namespace {

double bytes_of(const Tensor& x) { return static_cast<double>(x.elements()) * static_cast<double>(size_of(x.dtype())); }

bool is_member(const Step& step, const Node* node) {
  return std::ranges::find(step.members, node) != step.members.end();
}

// What a step reads and writes, without the values that its kernel keeps to itself.
struct Traffic {
  explicit Traffic(const Step& step) {
    std::vector<const Node*> seen;
    for (const Node* const member : step.members) {
      for (const Tensor& input : member->inputs) {
        const Node* const node = input.node().get();
        if (is_member(step, node) || std::ranges::find(seen, node) != seen.end()) continue;
        seen.push_back(node);
        read += bytes_of(input);
      }
    }
    const Node& last = *step.members.back();
    written = static_cast<double>(last.elements()) * static_cast<double>(last.element_bytes());
  }
  double read = 0;
  double written = 0;
};

// Whether a step computes nothing: its result has the memory of its input.
bool is_view(const Step& step) {
  return dynamic_cast<const ViewPrimitive*>(step.members[0]->primitive.get()) != nullptr;
}

std::string names_of(const Step& step) {
  std::string names;
  for (const Node* const member : step.members) {
    if (!names.empty()) names += ", ";
    names += member->primitive->name();
  }
  return names;
}

std::string way_of(const Step& step) {
  const Node& node = *step.members.back();
  if (is_view(step)) return "view";
  if (step.is_map)
    return step.members.size() == 1 ? "1 operation in a pass"
                                    : fmt::format("{} operations in a pass", step.members.size());
  if (node.lane->is_host() || node.primitive->runs_on_device(node)) return "operation";
  return "by the host, with copies";
}

// The work of a graph, whatever the device.
struct Work {
  double operations = 0;
  double bytes = 0;
  double launches = 0;
  double value_bytes = 0;
  bool is_narrow = true;                  // has no float64 and int64
  std::map<std::string, double> by_name;  // operations of each primitive

  void add(const Step& step) {
    for (const Node* const member : step.members) {
      const double one = member->primitive->operations(*member);
      operations += one;
      by_name[std::string(member->primitive->name())] += one;
      is_narrow = is_narrow && has_ir(member->type);
    }
    if (is_view(step) || step.members[0]->primitive->name() == "on") return;
    const Traffic traffic(step);
    bytes += traffic.read + traffic.written;
    launches += 1;
  }
  // The primitive that takes most of the work names the history of run times.
  [[nodiscard]] std::string name() const {
    const auto most = std::ranges::max_element(by_name, {}, [](const auto& one) { return one.second; });
    return "array/" + (most == by_name.end() ? "nothing" : most->first);
  }
};

Work work_of(std::span<const Tensor> values, std::span<const Tensor> inputs) {
  Work work;
  values[0].node()->lane->engine().visit_steps(values, [&](const Step& step) { work.add(step); });
  for (const Tensor& value : values) work.value_bytes += bytes_of(value);
  for (const Tensor& input : inputs) work.is_narrow = work.is_narrow && has_ir(input.dtype());
  return work;
}

Workload workload_on(const Device& device, const Work& work, std::span<const Tensor> arguments, double copied_back) {
  Workload workload{.name = work.name(), .bytes = work.bytes, .launches = std::max(work.launches, 1.0)};
  workload.operations.fp32 = work.operations;
  for (const Tensor& argument : arguments) {
    if (argument.device() != device) workload.copy_in_bytes += bytes_of(argument);
  }
  if (device.backend() == "cpu") {
    workload.launches = 0;
  } else {
    workload.copy_out_bytes = copied_back;
  }
  return workload;
}

// The CPU first, then the devices that can compute the types of the work.
std::vector<Placement> placements_of(const Work& work, std::span<const Tensor> inputs, double copied_back, Lane& host,
                                     const DeviceRequest& request) {
  std::vector<Placement> candidates = {{host.device(), workload_on(host.device(), work, inputs, 0)}};
  if (!work.is_narrow) return candidates;
  for (const Device& device : allowed_devices(host.runtime(), request)) {
    if (device == host.device()) continue;
    candidates.emplace_back(device, workload_on(device, work, inputs, copied_back));
  }
  return candidates;
}

Lane& host_lane(const Tensor& x) { return x.node()->lane->engine().lane(std::nullopt); }

}  // namespace

std::string explain(const Tensor& x) {
  const Tensor& tensor = as_tensor("explain", x);
  const Node& node = *tensor.node();
  const std::string what =
      fmt::format("{} {} on {}", to_string(node.shape), vectis::name(node.type), node.lane->device().label());
  if (tensor.is_computed()) return what + ": computed\n";
  std::string lines;
  std::size_t count = 0;
  node.lane->engine().visit_steps({&tensor, 1}, [&](const Step& step) {
    const Node& result = *step.members.back();
    const Traffic traffic(step);
    lines += fmt::format("{:>3}  {:<9} {:<24} {} {}: {}", ++count, result.lane->device().label(), way_of(step),
                         to_string(result.shape), vectis::name(result.type), names_of(step));
    if (!is_view(step)) {
      lines += fmt::format("; reads {}, writes {}", format_bytes(static_cast<std::uint64_t>(traffic.read)),
                           format_bytes(static_cast<std::uint64_t>(traffic.written)));
    }
    lines += '\n';
  });
  return fmt::format("{}: {} {} to compute\n{}", what, count, count == 1 ? "step" : "steps", lines);
}

FastestDevice fastest_device(std::span<const Tensor> values, std::span<const Tensor> inputs,
                             const DeviceRequest& request) {
  constexpr std::string_view op = "fastest_device";
  if (values.empty()) throw_invalid(op, "no values; give at least one array");
  for (const Tensor& value : values) (void)as_tensor(op, value);
  for (const Tensor& input : inputs) (void)as_tensor(op, input);
  Lane& host = host_lane(values[0]);
  const std::vector<Placement> candidates = placements_of(work_of(values, inputs), inputs, 0, host, request);
  Choice choice = planner(host.runtime()).choose(candidates);
  return {*candidates[choice.index].device, std::move(choice)};
}

Placed on_fastest_device(const Function& function, std::span<const Tensor> arguments, const DeviceRequest& request) {
  if (arguments.empty()) throw_invalid("on_fastest_device", "no arguments; give at least one array");
  for (const Tensor& argument : arguments) (void)as_tensor("on_fastest_device", argument);
  Lane& host = host_lane(arguments[0]);
  const auto on = [&](const Device& device) {
    std::vector<Tensor> there;
    for (const Tensor& argument : arguments) there.push_back(argument.on(device));
    return function(there);
  };
  const Tensor planned = on(host.device());
  const Work work = work_of({&planned, 1}, arguments);
  const bool is_from_host =
      std::ranges::all_of(arguments, [&](const Tensor& argument) { return argument.device() == host.device(); });
  const std::vector<Placement> candidates =
      placements_of(work, arguments, is_from_host ? work.value_bytes : 0, host, request);
  Choice choice = planner(host.runtime()).choose(candidates);
  const Placement& chosen = candidates[choice.index];
  Executor& executor = host.runtime().executor();
  const auto start = executor.now();
  Tensor value = on(*chosen.device);
  if (is_from_host) value = value.on(host.device());
  value.eval();
  const std::chrono::duration<double> seconds = executor.now() - start;
  planner(host.runtime()).record(chosen, seconds.count());
  return {std::move(value), std::move(choice)};
}

}  // namespace vectis::inline v0_1::array
