// JSON documents (RFC 8259) of untrusted files: configurations, vocabularies, headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vectis::inline v0_1::nn {

class JsonValue;

// The members of a JSON object, in the order of the document. Their names are distinct.
class JsonObject {
 public:
  using Member = std::pair<std::string, JsonValue>;

  JsonObject() = default;
  // Precondition: the names are distinct.
  explicit JsonObject(std::vector<Member> members);

  // Returns the value of a member, in logarithmic time; null when there is none. Valid as long as the object.
  [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return by_name_.size(); }
  [[nodiscard]] std::vector<Member>::const_iterator begin() const noexcept { return members_.begin(); }
  [[nodiscard]] std::vector<Member>::const_iterator end() const noexcept { return members_.end(); }

 private:
  std::vector<Member> members_;
  std::vector<std::size_t> by_name_;  // positions in members_, sorted by their names
};

// What a document may have at most. Within the depth, the functions of JsonValue that recurse are safe.
struct JsonLimits {
  std::size_t depth = 128;                                         // of objects and arrays in each other
  std::size_t elements = std::numeric_limits<std::size_t>::max();  // of an array
};

enum class JsonKind : std::uint8_t { null, boolean, integer, real, string, array, object };

// A value of a JSON document. Reading is thread-safe.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;

  JsonValue() noexcept = default;  // null
  explicit JsonValue(bool value) noexcept : value_(value) {}
  explicit JsonValue(std::int64_t value) noexcept : value_(value) {}
  explicit JsonValue(double value) noexcept : value_(value) {}
  explicit JsonValue(std::string value) noexcept : value_(std::move(value)) {}
  explicit JsonValue(Array value) noexcept : value_(std::move(value)) {}
  explicit JsonValue(JsonObject value) noexcept : value_(std::move(value)) {}

  // Returns the value in a document of UTF-8, which may begin with a byte order mark. Throws CorruptData, for the call
  // `op`, unless the document is strict JSON: no comments, no trailing commas, no unpaired surrogates, no numbers
  // beyond the range of double, no two members of an object with one name. So it does beyond `limits`.
  static JsonValue parse(std::string_view op, std::string_view text, const JsonLimits& limits = {});

  [[nodiscard]] JsonKind kind() const noexcept { return static_cast<JsonKind>(value_.index()); }
  // Returns the kind for messages: "a string", "an integer".
  [[nodiscard]] std::string_view kind_name() const noexcept;
  [[nodiscard]] bool is_null() const noexcept { return kind() == JsonKind::null; }

  // Each returns nothing, or null, when the value is of another kind. Pointers are valid as long as the value.
  [[nodiscard]] std::optional<bool> boolean() const noexcept { return copy_of<bool>(); }
  // An integer is written without fraction and exponent, and fits 64 bits with a sign: it is exact.
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept { return copy_of<std::int64_t>(); }
  // Of an integer too, rounded to double.
  [[nodiscard]] std::optional<double> number() const noexcept;
  [[nodiscard]] const std::string* string() const noexcept { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* array() const noexcept { return std::get_if<Array>(&value_); }
  [[nodiscard]] const JsonObject* object() const noexcept { return std::get_if<JsonObject>(&value_); }

  // Returns the value of a member; null when there is none or this is no object.
  [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;

 private:
  template <class T>
  [[nodiscard]] std::optional<T> copy_of() const noexcept {
    const T* const value = std::get_if<T>(&value_);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

  // In the order of JsonKind.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, JsonObject> value_;
};

// Returns `text` as a JSON string, in quotes: quotes, backslashes and control characters are escaped, other characters
// are not. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace vectis::inline v0_1::nn
