// The source texts and PTX of the kernels embedded in the plug-in under test: the build leaves them in the folder
// VECTIS_EMBEDDED_TEXTS, which is empty when none are embedded.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace vectis::test {

struct EmbeddedText {
  std::string name;
  std::string text;  // CUDA C++
  std::string ptx;
};

inline std::string whole_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// By name.
inline std::vector<EmbeddedText> embedded_texts() {
  std::vector<std::filesystem::path> found;
  std::error_code missing;
  for (const auto& file : std::filesystem::directory_iterator(VECTIS_EMBEDDED_TEXTS, missing)) {
    if (file.path().extension() == ".cu") found.push_back(file.path());
  }
  std::sort(found.begin(), found.end());
  std::vector<EmbeddedText> texts;
  texts.reserve(found.size());
  for (const auto& file : found) {
    texts.push_back({file.filename().string(), whole_file(file), whole_file(file.string() + ".ptx")});
  }
  return texts;
}

inline std::string embedded_options() {
  return whole_file(std::filesystem::path(VECTIS_EMBEDDED_TEXTS) / "options.txt");
}

}  // namespace vectis::test
