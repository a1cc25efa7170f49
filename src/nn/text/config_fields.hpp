// Members of JSON configurations, with their kinds and ranges checked.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "nn/text/json_value.hpp"

namespace vectis::inline v0_1::nn {

struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

// A JSON object of a configuration. A member that is null counts as missing. All functions throw CorruptData, for the
// call `op`, for a member of another kind.
class ConfigFields {
 public:
  // Throws CorruptData unless `value`, which messages name `what`, is an object. It must outlive this, as must `op` and
  // `what`.
  ConfigFields(std::string_view op, std::string_view what, const JsonValue& value);

  // Returns a member; null when it is missing.
  [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;
  // Returns a member. Throws CorruptData when it is missing.
  [[nodiscard]] const JsonValue& at(std::string_view name) const;

  // Each returns a member, or `missing`. Throws CorruptData for a number outside of the range.
  [[nodiscard]] bool boolean(std::string_view name, bool missing) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t missing, const IntegerRange& range) const;
  // The number must be finite and at least 0.
  [[nodiscard]] double number(std::string_view name, double missing) const;
  [[nodiscard]] std::string string(std::string_view name, std::string_view missing) const;

  // Return a member. Throw CorruptData when it is missing.
  [[nodiscard]] std::int64_t integer_at(std::string_view name, const IntegerRange& range) const;
  [[nodiscard]] const std::string& string_at(std::string_view name) const;
  [[nodiscard]] const JsonValue::Array& array_at(std::string_view name) const;

 private:
  [[noreturn]] void throw_kind(std::string_view name, const JsonValue& found, std::string_view expected) const;
  [[nodiscard]] std::int64_t checked_integer(std::string_view name, const JsonValue& value,
                                             const IntegerRange& range) const;

  std::string_view op_;
  std::string_view what_;
  const JsonValue* value_;
};

// Throws Unsupported for the call `op`.
[[noreturn]] void throw_unsupported(std::string_view op, std::string_view message);

// Returns a string of a file for messages, cut where it is long.
[[nodiscard]] std::string_view shown(std::string_view text) noexcept;

}  // namespace vectis::inline v0_1::nn
