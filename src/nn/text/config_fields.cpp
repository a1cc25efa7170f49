#include "nn/text/config_fields.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/utf8.hpp"
#include "nn/parsed_file.hpp"

namespace vectis::inline v0_1::nn {

ConfigFields::ConfigFields(std::string_view op, std::string_view what, const JsonValue& value)
    : op_(op), what_(what), value_(&value) {
  if (value.object() != nullptr) return;
  throw_corrupt_file(op, fmt::format("{} is {}, not an object", what, value.kind_name()));
}

const JsonValue* ConfigFields::find(std::string_view name) const noexcept {
  const JsonValue* const found = value_->find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const JsonValue& ConfigFields::at(std::string_view name) const {
  if (const JsonValue* const found = find(name)) return *found;
  throw_corrupt_file(op_, fmt::format("{} has no {}", what_, shown(name)));
}

void ConfigFields::throw_kind(std::string_view name, const JsonValue& found, std::string_view expected) const {
  throw_corrupt_file(op_, fmt::format("{} of {} is {}, not {}", shown(name), what_, found.kind_name(), expected));
}

bool ConfigFields::boolean(std::string_view name, bool missing) const {
  const JsonValue* const found = find(name);
  if (found == nullptr) return missing;
  if (!found->boolean()) throw_kind(name, *found, "a boolean");
  return *found->boolean();
}

std::int64_t ConfigFields::checked_integer(std::string_view name, const JsonValue& value,
                                           const IntegerRange& range) const {
  const std::optional<std::int64_t> integer = value.integer();
  if (!integer) throw_kind(name, value, "an integer");
  if (*integer < range.min || *integer > range.max) {
    throw_corrupt_file(
        op_, fmt::format("{} of {} is {}, not one of {} to {}", shown(name), what_, *integer, range.min, range.max));
  }
  return *integer;
}

std::int64_t ConfigFields::integer(std::string_view name, std::int64_t missing, const IntegerRange& range) const {
  const JsonValue* const found = find(name);
  return found == nullptr ? missing : checked_integer(name, *found, range);
}

double ConfigFields::number(std::string_view name, double missing) const {
  const JsonValue* const found = find(name);
  if (found == nullptr) return missing;
  const std::optional<double> number = found->number();
  if (!number) throw_kind(name, *found, "a number");
  if (!std::isfinite(*number) || *number < 0) {
    throw_corrupt_file(op_, fmt::format("{} of {} is {}, it must be at least 0", shown(name), what_, *number));
  }
  return *number;
}

std::string ConfigFields::string(std::string_view name, std::string_view missing) const {
  return find(name) == nullptr ? std::string(missing) : string_at(name);
}

std::int64_t ConfigFields::integer_at(std::string_view name, const IntegerRange& range) const {
  return checked_integer(name, at(name), range);
}

const std::string& ConfigFields::string_at(std::string_view name) const {
  const JsonValue& found = at(name);
  if (found.string() == nullptr) throw_kind(name, found, "a string");
  return *found.string();
}

const JsonValue::Array& ConfigFields::array_at(std::string_view name) const {
  const JsonValue& found = at(name);
  if (found.array() == nullptr) throw_kind(name, found, "an array");
  return *found.array();
}

void throw_unsupported(std::string_view op, std::string_view message) {
  throw Error(ErrorCode::unsupported, op, message);
}

std::string_view shown(std::string_view text) noexcept {
  constexpr std::size_t shown_bytes_max = 64;
  return detail::cut_utf8(text, shown_bytes_max);
}

}  // namespace vectis::inline v0_1::nn
