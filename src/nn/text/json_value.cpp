#include "nn/text/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/checksummed_stream.hpp"
#include "base/utf8.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// Receives the events of nlohmann's parser, which keeps no call stack of its own, and makes the values of them. Its
// names are those of nlohmann::json_sax.
class JsonBuilder {
 public:
  JsonBuilder(std::string_view op, const JsonLimits& limits) : op_(op), limits_(limits) {}

  bool null() { return add(JsonValue()); }
  bool boolean(bool value) { return add(JsonValue(value)); }
  // Negative integers, and "-0", which is a negative number of type double only.
  bool number_integer(std::int64_t value) { return add(value == 0 ? JsonValue(-0.0) : JsonValue(value)); }
  bool number_unsigned(std::uint64_t value) {
    return add(std::in_range<std::int64_t>(value) ? JsonValue(static_cast<std::int64_t>(value))
                                                  : JsonValue(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string& /*text*/) { return add(JsonValue(value)); }
  bool string(std::string& text) { return add(JsonValue(std::move(text))); }
  bool binary(nlohmann::json::binary_t& /*bytes*/) { return false; }  // not in JSON

  bool start_object(std::size_t /*size*/) { return open(); }
  bool key(std::string& name) {
    open_.back().names.push_back(std::move(name));
    return true;
  }
  bool end_object() {
    Container done = close();
    check_names(done.names);
    std::vector<JsonObject::Member> members;
    members.reserve(done.names.size());
    for (std::size_t i = 0; i < done.names.size(); ++i) {
      members.emplace_back(std::move(done.names[i]), std::move(done.values[i]));
    }
    return add(JsonValue(JsonObject(std::move(members))));
  }
  bool start_array(std::size_t /*size*/) { return open(); }
  bool end_array() { return add(JsonValue(close().values)); }

  // The exception is not shown: its message has bytes of the document, which may be any and as many as there are.
  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::json::exception& /*error*/) {
    detail::throw_corrupt(fmt::format("the text stops being JSON in UTF-8 at byte {}", position), op_);
  }

  JsonValue take() { return std::move(root_); }

 private:
  // An object or array whose end was not read yet.
  struct Container {
    std::vector<std::string> names;  // of an object's members
    std::vector<JsonValue> values;
  };

  bool open() {
    if (open_.size() == limits_.depth) {
      detail::throw_corrupt(fmt::format("the JSON has more than {} objects and arrays in each other", limits_.depth),
                            op_);
    }
    open_.emplace_back();
    return true;
  }
  Container close() {
    Container done = std::move(open_.back());
    open_.pop_back();
    return done;
  }
  bool add(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    auto& [names, values] = open_.back();
    if (names.empty() && values.size() == limits_.elements) {
      detail::throw_corrupt(fmt::format("an array of the JSON has more than {} elements", limits_.elements), op_);
    }
    values.push_back(std::move(value));
    return true;
  }
  void check_names(const std::vector<std::string>& names) const {
    std::vector<std::string_view> sorted(names.begin(), names.end());
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return;
    detail::throw_corrupt(fmt::format("an object of the JSON has two members '{}'", detail::cut_utf8(*twice, 64)), op_);
  }

  std::string_view op_;
  JsonLimits limits_;
  JsonValue root_;
  std::vector<Container> open_;
};

}  // namespace

JsonObject::JsonObject(std::vector<Member> members) : members_(std::move(members)), by_name_(members_.size()) {
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(by_name_, {}, [&](std::size_t i) { return std::string_view(members_[i].first); });
}

const JsonValue* JsonObject::find(std::string_view name) const noexcept {
  const auto name_of = [&](std::size_t i) { return std::string_view(members_[i].first); };
  const auto at = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return at != by_name_.end() && name_of(*at) == name ? &members_[*at].second : nullptr;
}

JsonValue JsonValue::parse(std::string_view op, std::string_view text, const JsonLimits& limits) {
  // nlohmann's parser takes a NUL for the end, and does not look at what follows.
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    detail::throw_corrupt(fmt::format("byte {} of the JSON is NUL", at + 1), op);
  }
  JsonBuilder builder(op, limits);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::string_view JsonValue::kind_name() const noexcept {
  constexpr std::array<std::string_view, 7> names = {"null",     "a boolean", "an integer", "a number",
                                                     "a string", "an array",  "an object"};
  return names.at(value_.index());
}

std::optional<double> JsonValue::number() const noexcept {
  if (const std::optional<std::int64_t> exact = integer()) return static_cast<double>(*exact);
  return copy_of<double>();
}

const JsonValue* JsonValue::find(std::string_view name) const noexcept {
  const JsonObject* const members = object();
  return members == nullptr ? nullptr : members->find(name);
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace vectis::inline v0_1::nn
