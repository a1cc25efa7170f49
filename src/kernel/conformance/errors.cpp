#include <fmt/format.h>

#include <algorithm>

#include "kernel/conformance/suite/desk.hpp"
#include "kernel/conformance/suite/types.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t room = 1U << 16;  // bytes behind each operand, so that a view may grow and still fit

// A call that must be refused.
struct WrongCall {
  std::string what;
  std::vector<View> views;
  std::vector<Number> numbers;
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
  WrongCalls(const Subject& subject, const TypeSet& types, std::vector<View> views, std::vector<Number> numbers)
      : subject_(subject), types_(types), views_(std::move(views)), numbers_(std::move(numbers)) {
    counts();
    for (std::size_t i = 0; i < views_.size(); ++i) {
      types_of(i);
      shapes_of(i);
      places_of(i);
    }
    parameters();
  }

  std::vector<WrongCall> made;

 private:
  template <class Change>
  void add(std::string what, std::size_t operand, const Change& change) {
    WrongCall call{std::move(what), views_, numbers_};
    change(call.views[operand]);
    made.push_back(std::move(call));
  }

  void counts() {
    made.push_back({"no view", {}, numbers_});
    made.push_back({"one view too few", {views_.begin(), views_.end() - 1}, numbers_});
    made.push_back({"one view too many", views_, numbers_});
    made.back().views.push_back(views_.front());
    made.push_back({"too many numbers", views_, std::vector<Number>(9, Number(0))});
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

  void parameters() {
    const Operation* operation = find_operation(subject_.operation);
    if (operation == nullptr) return;
    for (std::size_t i = 0; i < operation->parameters.size() && i < numbers_.size(); ++i) {
      const ParameterRule& rule = operation->parameters[i];
      if (!rule.integer) continue;
      for (const std::int64_t value :
           {static_cast<std::int64_t>(rule.least) - 1, static_cast<std::int64_t>(rule.most) + 1}) {
        WrongCall call{fmt::format("{} = {}", rule.name, value), views_, numbers_};
        call.numbers[i] = Number(value);
        made.push_back(std::move(call));
      }
    }
  }

  const Subject& subject_;
  const TypeSet& types_;
  std::vector<View> views_;
  std::vector<Number> numbers_;
};

// Empty when `call` was refused as it must be.
std::string refused(Stream& stream, std::string_view operation, const WrongCall& call) {
  try {
    run(stream, operation, call.views, call.numbers);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_input && error.op() == operation) return {};
    return fmt::format("{} with {} gave {} of [{}], not InvalidInput of [{}]: {}", operation, call.what,
                       describe(error.code()).name, error.op(), operation, error.what());
  }
  return fmt::format("{} with {} was taken", operation, call.what);
}

void run_subject(Runtime& runtime, Desk& desk, const Subject& subject, const TypeSet& types, std::uint64_t seed,
                 BehaviourReport& report) {
  const Case one{&types, subject.medium, Layout::unaligned, subject.data.front(), subject.numbers.front()};
  const Problem problem = make_problem(subject, one, seed);
  std::vector<DeviceMemory> memories;
  for (const Operand& operand : problem.operands) {
    memories.emplace_back(desk.context(), operand.bytes().size() + room);
    desk.stream().copy_to_device(memories.back(), 0, operand.bytes());
  }
  const std::vector<View> views = views_of(problem.operands, memories);
  const WrongCalls wrong(subject, types, views, problem.numbers);
  for (const WrongCall& call : wrong.made) {
    ++report.cases;
    if (std::string failure = refused(desk.stream(), subject.operation, call); !failure.empty()) {
      report.failures.push_back(std::move(failure));
    }
  }
  // The stream goes on, and nothing was written by what was refused.
  ++report.cases;
  run(desk.stream(), subject.operation, views, problem.numbers);
  const std::vector<Operand> after = desk.download(problem.operands, memories);
  const Verdict verdict = judge(runtime.executor(), subject, one, problem, after);
  if (verdict.failure.empty()) return;
  report.failures.push_back(fmt::format("{} {} after wrong calls: {}", subject.operation, name(one), verdict.failure));
}

// A name nobody has, which is `run`'s to refuse, and memory of another context.
void run_strangers(Desk& desk, const Device& device, BehaviourReport& report) {
  const DeviceContext other(device);
  const DeviceMemory there(other, 64);
  const std::vector<View> views = {View(there, DType::float32, 2, 2)};
  report.cases += 2;
  if (std::string failure = refused(desk.stream(), "fill", {"memory of another context", views, {1.0}});
      !failure.empty()) {
    report.failures.push_back(std::move(failure));
  }
  try {
    run(desk.stream(), "no_such_operation", views);
    report.failures.emplace_back("an operation that does not exist was taken");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) report.failures.emplace_back(error.what());
  }
}

BehaviourReport run_errors(Runtime& runtime, const Device& device, std::uint64_t seed, Reach) {
  BehaviourReport report;
  Desk desk(device);
  for (const Subject& subject : whole_suite().subjects) {
    run_subject(runtime, desk, subject, subject.type_sets.front(), seed, report);
  }
  run_strangers(desk, device, report);
  return report;
}

}  // namespace

void add_errors(Suite& suite) {
  suite.behaviours.push_back({"errors",
                              "a wrong call is InvalidInput of its operation, writes nothing, and the stream goes on",
                              0, run_errors});
}

}  // namespace vectis::inline v0_1::conformance
