#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "kernel/conformance/suite/suite.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t random_bytes_max = 1ULL << 20;  // of all operands of a random case together

Layout layout(std::size_t number) { return static_cast<Layout>(number % layout_count); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t found = text.find(separator);
    parts.push_back(text.substr(0, found));
    if (found == std::string_view::npos) return parts;
    text.remove_prefix(found + 1);
  }
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Integers stay integers, so that the name of a case makes the same call again.
std::string number_text(const ParameterValue& one) {
  if (one.real == 0 && std::signbit(one.real)) return "-0.0";
  if (static_cast<double>(one.integer) == one.real) return fmt::to_string(one.integer);
  return fmt::to_string(one.real);
}

std::optional<ParameterValue> parse_number(std::string_view text) {
  if (const auto integer = number<std::int64_t>(text)) return *integer;
  if (const auto real = number<double>(text)) return *real;
  return std::nullopt;
}

// Mostly small, sometimes large: the logarithm is what is even.
std::uint64_t random_dimension(Random& random, std::uint64_t most) {
  if (random.below(24) == 0) return 0;
  const double drawn = std::exp2(random.unit() * std::log2(static_cast<double>(most)));
  return std::min(most, static_cast<std::uint64_t>(drawn));
}

}  // namespace

std::string name(const Case& one) {
  std::string text =
      fmt::format("{}:{}/{}/{}", one.types->label, fmt::join(one.dimensions, "x"), name(one.layout), name(one.data));
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    text += (i == 0 ? "/" : ",") + number_text(one.parameters[i]);
  }
  return text;
}

std::optional<Case> find_case(const Subject& subject, std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto types = std::ranges::find(subject.type_sets, text.substr(0, colon), &TypeSet::label);
  if (colon == std::string_view::npos || types == subject.type_sets.end()) return std::nullopt;
  const auto parts = split(text.substr(colon + 1), '/');
  if (parts.size() < 3 || parts.size() > 4) return std::nullopt;
  Case made;
  made.types = &*types;
  for (const std::string_view part : split(parts[0], 'x')) {
    const auto dimension = number<std::uint64_t>(part);
    if (!dimension) return std::nullopt;
    made.dimensions.push_back(*dimension);
  }
  const auto where = parse_layout(parts[1]);
  const auto what = parse_data(parts[2]);
  if (made.dimensions.size() != subject.medium.size() || !where || !what) return std::nullopt;
  made.layout = *where;
  made.data = *what;
  for (const std::string_view part : parts.size() == 4 ? split(parts[3], ',') : std::vector<std::string_view>()) {
    const auto parameter = parse_number(part);
    if (!parameter) return std::nullopt;
    made.parameters.push_back(*parameter);
  }
  const auto same_count = [&](const auto& parameters) { return parameters.size() == made.parameters.size(); };
  if (std::ranges::none_of(subject.parameters, same_count)) return std::nullopt;
  return made;
}

Case parse_case(const Subject& subject, std::string_view text) {
  if (auto found = find_case(subject, text)) return *std::move(found);
  throw Error(ErrorCode::invalid_input, "conformance",
              fmt::format("'{}' is no case of {}; use a name from a report, for example '{}'", text, subject.operation,
                          name(cases_of(subject, subject.type_sets.front(), Coverage::slice).front())));
}

bool is_empty(const Case& one) noexcept { return std::ranges::find(one.dimensions, 0U) != one.dimensions.end(); }

std::vector<Case> cases_of(const Subject& subject, const TypeSet& types, Coverage coverage) {
  std::vector<Case> cases;
  std::set<std::string> names;
  const auto add = [&](const Dimensions& dimensions, Layout where, Data what,
                       const std::vector<ParameterValue>& parameters) {
    Case made{&types, dimensions, where, what, parameters};
    if (names.insert(name(made)).second) cases.push_back(std::move(made));
  };
  const Data plain = subject.data.front();
  const std::size_t layouts = coverage == Coverage::slice ? 1 : layout_count;
  for (std::size_t i = 0; i < subject.small.size(); ++i) {
    for (std::size_t k = 0; k < layouts; ++k) {
      add(subject.small[i], layout(i + k), plain, subject.parameters[(i + k) % subject.parameters.size()]);
    }
  }
  for (std::size_t i = 0; i < subject.data.size(); ++i) {
    for (std::size_t k = 0; k < 2 * layouts; ++k) {
      add(subject.medium, layout(i + 3 * k), subject.data[i], subject.parameters[(i + k) % subject.parameters.size()]);
    }
  }
  for (std::size_t i = 0; i < subject.parameters.size(); ++i) {
    for (std::size_t k = 0; k < layouts; ++k) add(subject.medium, layout(3 + i + k), plain, subject.parameters[i]);
  }
  const std::size_t larges =
      coverage == Coverage::slice ? std::min<std::size_t>(2, subject.large.size()) : subject.large.size();
  for (std::size_t i = 0; i < larges; ++i) {
    add(subject.large[i], layout(3 * i), plain, subject.parameters.front());
    if (subject.data.size() == 1 || (coverage == Coverage::slice && i > 0)) continue;
    add(subject.large[i], layout(3 * i + 1), subject.data[1 + i % (subject.data.size() - 1)],
        subject.parameters.back());
  }
  if (subject.few_results && coverage != Coverage::slice) {
    for (const Dimensions& dimensions : subject.large) {
      for (std::size_t k = 0; k < layouts; ++k) add(dimensions, layout(k), subject.data[1], subject.parameters.front());
    }
  }
  if (coverage == Coverage::full) {
    for (Dimensions dimensions : subject.huge) {
      dimensions.front() *= 4 / size_of(types.types.front());
      add(dimensions, Layout::tight, plain, subject.parameters.front());
    }
  }
  return cases;
}

Case random_case(const Subject& subject, Random& random) {
  for (;;) {
    Case made;
    made.types = &subject.type_sets[random.below(subject.type_sets.size())];
    for (const std::uint64_t most : subject.random_max) made.dimensions.push_back(random_dimension(random, most));
    if (subject.repair) subject.repair(made.dimensions);
    made.layout = layout(random.below(layout_count));
    made.data = subject.data[random.below(subject.data.size())];
    made.parameters = subject.random_parameters ? subject.random_parameters(random)
                                                : subject.parameters[random.below(subject.parameters.size())];
    if (bytes_of(subject, made) <= random_bytes_max) return made;
  }
}

std::uint64_t bytes_of(const Subject& subject, const Case& one) {
  std::uint64_t bytes = 0;
  const std::vector<Shape> shapes = subject.shapes(one.dimensions, one.parameters);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    bytes += shapes[i].rows * shapes[i].columns * size_of(one.types->types[i]);
  }
  return bytes;
}

std::uint64_t case_seed(std::uint64_t seed, std::string_view operation, std::string_view case_name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL ^ seed;  // FNV-1a
  for (const std::string_view part : {operation, std::string_view("/"), case_name}) {
    for (const char letter : part) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  }
  return hash;
}

Problem make_problem(const Subject& subject, const Case& one, std::uint64_t seed) {
  Random random(case_seed(seed, subject.operation, name(one)));
  Problem problem;
  problem.parameters = one.parameters;
  const std::vector<Shape> shapes = subject.shapes(one.dimensions, one.parameters);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Operand& operand = problem.operands.emplace_back(one.types->types[i], shapes[i], one.layout, random);
    const bool written = std::ranges::find(subject.outputs, i) != subject.outputs.end();
    if (!written) operand.fill(one.data, random);  // an output begins as random bytes
  }
  if (subject.prepare) subject.prepare(problem, random);
  return problem;
}

}  // namespace vectis::inline v0_1::conformance
