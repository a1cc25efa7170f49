// Suggests the name a user probably meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vectis::app {

// Returns the Levenshtein distance: the insertions, deletions and substitutions of bytes that turn `a` into `b`.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + static_cast<std::size_t>(a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

// Returns the name with the smallest edit distance to `text`, the first on ties; an empty string when each name
// differs from `text` in more than half of the bytes of the longer one.
inline std::string nearest_name(std::string_view text, std::span<const std::string> names) {
  std::string nearest;
  std::size_t best = 0;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(text, name);
    if (distance > std::max(name.size(), text.size()) / 2 || (!nearest.empty() && distance >= best)) continue;
    nearest = name;
    best = distance;
  }
  return nearest;
}

}  // namespace vectis::app
