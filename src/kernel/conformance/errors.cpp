#include <fmt/format.h>

#include <algorithm>

#include "kernel/conformance/suite/suite.hpp"
#include "kernel/conformance/suite/test_context.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t room = 1U << 16;  // bytes behind each operand, so that a view may grow and still fit

// A call that must be refused.
struct WrongCall {
  std::string what;
  std::vector<View> views;
  std::vector<ParameterValue> parameters;
};

// Whether some subject of the operation takes these types.
bool types_exist(std::string_view operation, const std::vector<DType>& types) {
  return std::ranges::any_of(whole_suite().subjects, [&](const Subject& subject) {
    return subject.operation == operation &&
           std::ranges::any_of(subject.type_sets, [&](const TypeSet& set) { return set.types == types; });
  });
}

class WrongCalls {
 public:
  WrongCalls(const Subject& subject, const TypeSet& types, std::vector<View> views,
             std::vector<ParameterValue> parameters)
      : subject_(subject), types_(types), views_(std::move(views)), parameters_(std::move(parameters)) {
    counts();
    for (std::size_t i = 0; i < views_.size(); ++i) {
      types_of(i);
      shapes_of(i);
      places_of(i);
    }
    invalid_parameters();
  }

  std::vector<WrongCall> made;

 private:
  template <class Change>
  void add(std::string what, std::size_t operand, const Change& change) {
    WrongCall call{std::move(what), views_, parameters_};
    change(call.views[operand]);
    made.push_back(std::move(call));
  }

  void counts() {
    made.push_back({"no view", {}, parameters_});
    made.push_back({"one view too few", {views_.begin(), views_.end() - 1}, parameters_});
    made.push_back({"one view too many", views_, parameters_});
    made.back().views.push_back(views_.front());
    made.push_back({"too many parameters", views_, std::vector<ParameterValue>(9, ParameterValue(0))});
  }

  void types_of(std::size_t i) {
    add(fmt::format("operand {} of a type no operation takes", i), i, [](View& view) { view.type = DType::boolean; });
    for (const DType type : stored_types) {
      std::vector<DType> types = types_.types;
      types[i] = type;
      if (types_exist(subject_.operation, types)) continue;
      add(fmt::format("operand {} as {}", i, name(type)), i, [&](View& view) { view.type = type; });
    }
  }

  void shapes_of(std::size_t i) {
    const auto is_free = [&](char axis) {
      return std::ranges::find(subject_.free_counts, std::pair(i, axis)) != subject_.free_counts.end();
    };
    if (!is_free('r')) add(fmt::format("operand {} with a row more", i), i, [](View& view) { ++view.rows; });
    if (is_free('c')) return;
    add(fmt::format("operand {} with a column more", i), i, [](View& view) {
      ++view.columns;
      view.stride = std::max(view.stride, view.columns);
    });
  }

  void places_of(std::size_t i) {
    add(fmt::format("operand {} beyond its memory", i), i,
        [](View& view) { view.offset = view.memory.bytes() / size_of(view.type) - view.elements() / 2; });
    add(fmt::format("operand {} at an offset that overflows", i), i, [](View& view) { view.offset = UINT64_MAX - 1; });
    add(fmt::format("operand {} with a stride that overflows", i), i, [](View& view) {
      if (view.rows > 1) view.stride = UINT64_MAX / 2 + 1;
      if (view.rows == 1) view.offset = UINT64_MAX / 2;
    });
    if (views_[i].rows > 1 && views_[i].columns > 1) {
      add(fmt::format("operand {} with a stride below its columns", i), i,
          [](View& view) { view.stride = view.columns - 1; });
    }
    const bool written = std::ranges::find(subject_.outputs, i) != subject_.outputs.end();
    for (std::size_t other = 0; written && other < views_.size(); ++other) {
      if (other == i) continue;
      add(fmt::format("output {} in the memory of operand {}", i, other), i, [&](View& view) {
        view.memory = views_[other].memory;
        view.offset = views_[other].offset * size_of(views_[other].type) / size_of(view.type);
      });
    }
  }

  void invalid_parameters() {
    const Operation* operation = find_operation(subject_.operation);
    if (operation == nullptr) return;
    for (std::size_t i = 0; i < operation->parameters.size() && i < parameters_.size(); ++i) {
      const ParameterRule& rule = operation->parameters[i];
      if (!rule.integer) continue;
      for (const std::int64_t value :
           {static_cast<std::int64_t>(rule.min) - 1, static_cast<std::int64_t>(rule.max) + 1}) {
        WrongCall call{fmt::format("{} = {}", rule.name, value), views_, parameters_};
        call.parameters[i] = ParameterValue(value);
        made.push_back(std::move(call));
      }
    }
  }

  const Subject& subject_;
  const TypeSet& types_;
  std::vector<View> views_;
  std::vector<ParameterValue> parameters_;
};

// Empty when `call` was refused as it must be.
std::string refused(Stream& stream, std::string_view operation, const WrongCall& call) {
  try {
    run(stream, operation, call.views, call.parameters);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_input && error.op() == operation) return {};
    return fmt::format("{} with {} gave {} of [{}], not InvalidInput of [{}]: {}", operation, call.what,
                       describe(error.code()).name, error.op(), operation, error.what());
  }
  return fmt::format("{} with {} was taken", operation, call.what);
}

void run_subject(Runtime& runtime, TestContext& test, const Subject& subject, const TypeSet& types, std::uint64_t seed,
                 BehaviorReport& report) {
  const Case one{&types, subject.medium, Layout::unaligned, subject.data.front(), subject.parameters.front()};
  const Problem problem = make_problem(subject, one, seed);
  std::vector<DeviceMemory> memories;
  for (const Operand& operand : problem.operands) {
    memories.emplace_back(test.context(), operand.bytes().size() + room);
    test.stream().copy_to_device(memories.back(), 0, operand.bytes());
  }
  const std::vector<View> views = views_of(problem.operands, memories);
  const WrongCalls wrong(subject, types, views, problem.parameters);
  for (const WrongCall& call : wrong.made) {
    ++report.cases;
    if (std::string failure = refused(test.stream(), subject.operation, call); !failure.empty()) {
      report.failures.push_back(std::move(failure));
    }
  }
  // The stream goes on, and nothing was written by what was refused.
  ++report.cases;
  run(test.stream(), subject.operation, views, problem.parameters);
  const std::vector<Operand> after = test.download(problem.operands, memories);
  const Verdict verdict = judge(runtime.executor(), subject, one, problem, after);
  if (verdict.failure.empty()) return;
  report.failures.push_back(fmt::format("{} {} after wrong calls: {}", subject.operation, name(one), verdict.failure));
}

// A name nobody has, which is `run`'s to refuse, and memory of another context.
void run_strangers(TestContext& test, const Device& device, BehaviorReport& report) {
  const DeviceContext other(device);
  const DeviceMemory there(other, 64);
  const std::vector<View> views = {View(there, DType::float32, 2, 2)};
  report.cases += 2;
  if (std::string failure = refused(test.stream(), "fill", {"memory of another context", views, {1.0}});
      !failure.empty()) {
    report.failures.push_back(std::move(failure));
  }
  try {
    run(test.stream(), "no_such_operation", views);
    report.failures.emplace_back("an operation that does not exist was taken");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) report.failures.emplace_back(error.what());
  }
}

BehaviorReport run_errors(Runtime& runtime, const Device& device, std::uint64_t seed, Coverage) {
  BehaviorReport report;
  TestContext test(device);
  for (const Subject& subject : whole_suite().subjects) {
    run_subject(runtime, test, subject, subject.type_sets.front(), seed, report);
  }
  run_strangers(test, device, report);
  return report;
}

}  // namespace

void add_errors(Suite& suite) {
  suite.behaviors.push_back({"errors",
                             "a wrong call is InvalidInput of its operation, writes nothing, and the stream goes on", 0,
                             run_errors});
}

}  // namespace vectis::inline v0_1::conformance
