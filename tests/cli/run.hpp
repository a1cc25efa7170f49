// Runs the `vectis` program with a few variables set.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "vectis/base/os.hpp"

namespace vectis::test {

inline ProcessResult run_vectis(const std::vector<std::string>& arguments,
                                const std::vector<std::string>& variables = {}) {
  std::vector<std::string> command = {"/usr/bin/env", "HOME=/nonexistent"};
  command.insert(command.end(), variables.begin(), variables.end());
  command.emplace_back(VECTIS_PROGRAM);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return real_os().run(command, std::chrono::minutes(2));
}

// The backend of that name in `vectis doctor --json`.
inline nlohmann::json doctor_on(const std::string& backend, const std::vector<std::string>& variables) {
  const ProcessResult result = run_vectis({"doctor", "--json"}, variables);
  const nlohmann::json page = nlohmann::json::parse(result.output);
  for (const nlohmann::json& one : page.at("backends")) {
    if (one.at("backend") == backend) return one;
  }
  throw std::out_of_range(backend + " in " + result.output + result.error);
}

}  // namespace vectis::test
