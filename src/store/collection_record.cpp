#include "store/collection_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vectis/base/error.hpp"
#include "vectis/store/vector_store.hpp"

namespace vectis::inline v0_1::detail {

namespace {

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= VectorStore::name_bytes_max && is_letter_or_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; });
}

void check_text(std::string_view op, std::string_view what, std::string_view text) {
  if (text.size() <= text_bytes_max) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("{} has {} bytes, at most {} are allowed; shorten it", what, text.size(), text_bytes_max));
}

}  // namespace

void check_name(std::string_view op, std::string_view name) {
  if (is_name(name)) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("'{}' is no name for a collection: 1 to {} letters, digits, '_', '-' and '.', not beginning "
                          "with '-' or '.'; choose another",
                          name.substr(0, VectorStore::name_bytes_max), VectorStore::name_bytes_max));
}

void check_config(std::string_view op, const CollectionConfig& config) {
  check_text(op, "the tenant", config.tenant);
  check_text(op, "the kind of index", config.index);
  check_text(op, "the device", config.device.value_or(""));
  if (config.recall && !(*config.recall > 0 && *config.recall <= 1)) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("a recall of {}, it must be above 0 and at most 1; 0.95 finds 95 of 100", *config.recall));
  }
}

}  // namespace vectis::inline v0_1::detail
