#include "query.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>

namespace vectis::opencl {

namespace {

constexpr std::pair<int, int> version_min{1, 2};

std::string without_trailing_blanks(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

// {0, 0} when the text does not have the form that the OpenCL standard prescribes.
std::pair<int, int> parse_version(std::string_view stated) {
  constexpr std::string_view prefix = "OpenCL ";
  if (!stated.starts_with(prefix)) return {0, 0};
  stated.remove_prefix(prefix.size());
  const char* begin = stated.data();
  const char* end = begin + stated.size();
  std::pair<int, int> version;
  const auto major = std::from_chars(begin, end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return {0, 0};
  const auto minor = std::from_chars(major.ptr + 1, end, version.second);
  return minor.ec == std::errc() ? version : std::pair{0, 0};
}

}  // namespace

std::string platform_text(const Api& api, cl_platform_id platform, cl_platform_info parameter) {
  std::size_t bytes = 0;
  check(api.GetPlatformInfo(platform, parameter, 0, nullptr, &bytes), "clGetPlatformInfo");
  std::string text(bytes, '\0');
  check(api.GetPlatformInfo(platform, parameter, bytes, text.data(), nullptr), "clGetPlatformInfo");
  return without_trailing_blanks(std::move(text));
}

std::string device_text(const Api& api, cl_device_id device, cl_device_info parameter) {
  const std::vector<char> text = device_values<char>(api, device, parameter);
  return without_trailing_blanks({text.begin(), text.end()});
}

Extensions::Extensions(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) words_.push_back(std::move(word));
}

bool Extensions::has(std::string_view extension) const {
  return std::find(words_.begin(), words_.end(), extension) != words_.end();
}

void require_version(const std::string& subject, const std::string& stated) {
  if (parse_version(stated) >= version_min) return;
  throw Failure(VECTIS_BACKEND_CREATION, subject + " states version '" + stated + "', OpenCL 1.2 is needed",
                VECTIS_REASON_DRIVER_TOO_OLD);
}

}  // namespace vectis::opencl
