// An OpenCL layer that changes the text of programs before they are compiled; see README.md.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/drivers/opencl_layer/entry.hpp"

namespace vectis::test {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the number of replacements.
std::size_t patch(std::string& text) {
  const std::string find = variable("VECTIS_PATCH_FIND");
  const std::string replace = variable("VECTIS_PATCH_REPLACE");
  if (find.empty() || text.find(variable("VECTIS_PATCH_IN")) == std::string::npos) return 0;
  std::size_t count = 0;
  for (std::size_t at = text.find(find); at != std::string::npos; at = text.find(find, at + replace.size())) {
    text.replace(at, find.size(), replace);
    ++count;
  }
  return count;
}

cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char** strings, const size_t* lengths,
                                      cl_int* code) {
  std::string text;
  for (cl_uint i = 0; i < count; ++i) {
    const bool counted = lengths != nullptr && lengths[i] != 0;
    text.append(strings[i], counted ? lengths[i] : std::strlen(strings[i]));
  }
  if (const std::size_t changed = patch(text); changed != 0) {
    std::ofstream(variable("VECTIS_PATCH_REPORT"), std::ios::app) << changed << '\n';
  }
  const char* whole = text.c_str();
  const size_t length = text.size();
  return functions_below()->clCreateProgramWithSource(context, 1, &whole, &length, code);
}

}  // namespace

const char* const layer_name = "Vectis patches";

void wrap_functions(cl_icd_dispatch& table) { table.clCreateProgramWithSource = create_program; }

}  // namespace vectis::test
