#include "settings.hpp"

#include <charconv>
#include <cstring>
#include <string>

#include "status.hpp"

namespace vectis::webgpu {

std::optional<std::uint64_t> number_setting(const plugin::Host& host, const char* key, const char* unit) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40U;
  const char* text = host.setting(key);
  if (text == nullptr) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stopped != end || number == 0 || number > most) {
    throw Failure(
        VECTIS_INVALID_INPUT,
        std::string("the setting ") + key + " is '" + text + "', it must be a whole number of " + unit + " from 1 on",
        VECTIS_REASON_OTHER);
  }
  return number;
}

}  // namespace vectis::webgpu
