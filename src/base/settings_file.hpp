// A configuration file as flat keys.
#pragma once

#include <string>
#include <vector>

namespace vectis::inline v0_1 {

struct FileSetting {
  std::string key;    // nested names joined by dots
  std::string value;  // as written
  int line = 0;       // from 1
};

// InvalidInput, naming `path` and the line, when the text is not YAML, is not a map of maps and plain values, or says
// a key twice.
std::vector<FileSetting> parse_settings_file(const std::string& path, const std::string& text);

}  // namespace vectis::inline v0_1
