#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/launch.hpp"
#include "device/observer.hpp"
#include "kernel/launch/check.hpp"
#include "kernel/launch/portable.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1 {

namespace {

const Operation& named(std::string_view name) {
  if (const Operation* const found = find_operation(name)) return *found;
  throw Error(
      ErrorCode::invalid_input, "run",
      fmt::format("there is no operation '{}' among {}; docs/operations.md lists them", name, operations().size()));
}

// Whether the backend did it.
bool run_native(Stream& stream, const OperationCall& call) {
  std::array<detail::OpView, detail::operands_max> views;
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    const View& view = call.views[i];
    views[i] = {&view.memory, view.offset, view.rows, view.columns, view.stride, view.type};
  }
  std::array<VectisNumber, detail::parameters_max> numbers{};
  for (std::size_t i = 0; i < call.numbers.size(); ++i) numbers[i] = {call.numbers[i].integer, call.numbers[i].real};
  return detail::run_op(stream, call.operation->name.c_str(), {views.data(), call.views.size()},
                        {numbers.data(), call.numbers.size()});
}

void run_checked(Stream& stream, const OperationCall& call) {
  if (!run_native(stream, call)) detail::run_portable(stream, call);
}

// While a profiler looks.
[[gnu::noinline, gnu::cold]] void run_seen(detail::StreamObserver& observer, Stream& stream,
                                           const OperationCall& call) {
  const OperationCost cost = call.operation->cost(call);
  const detail::ObservedRange range(observer, {call.operation->name, static_cast<std::uint64_t>(cost.bytes),
                                               cost.operations, stream.core()->context->device->id});
  run_checked(stream, call);
}

}  // namespace

void run(Stream& stream, std::string_view operation, std::span<const View> views, std::span<const Number> numbers) {
  const Operation& named_operation = named(operation);
  const detail::CallNumbers complete(named_operation, numbers);
  const OperationCall call{&named_operation, views, complete.get()};
  detail::check_call(call, *stream.core()->context);
  if (std::ranges::any_of(views, [](const View& view) { return view.elements() == 0; })) {
    if (named_operation.when_empty) named_operation.when_empty(stream, call);
    return;
  }
  if (auto* observer = detail::observer_of(*stream.core())) [[unlikely]]
    return run_seen(*observer, stream, call);
  run_checked(stream, call);
}

void run(Stream& stream, std::string_view operation, std::initializer_list<View> views,
         std::initializer_list<Number> numbers) {
  run(stream, operation, std::span(views.begin(), views.size()), std::span(numbers.begin(), numbers.size()));
}

}  // namespace vectis::inline v0_1
