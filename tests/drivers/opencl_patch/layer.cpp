// An OpenCL layer that changes the text of programs before they are compiled; see README.md.
#include <CL/cl_layer.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#define VECTIS_LAYER_EXPORT __attribute__((visibility("default")))

namespace {

const cl_icd_dispatch* target = nullptr;  // the next layer, towards the driver
cl_icd_dispatch table{};                  // the table given to the application

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
  return target->clCreateProgramWithSource(context, 1, &whole, &length, code);
}

cl_int answer(const void* from, size_t bytes, size_t room, void* to, size_t* needed) {
  if (needed != nullptr) *needed = bytes;
  if (to == nullptr) return CL_SUCCESS;
  if (room < bytes) return CL_INVALID_VALUE;
  std::memcpy(to, from, bytes);
  return CL_SUCCESS;
}

}  // namespace

extern "C" {

VECTIS_LAYER_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info parameter, size_t room, void* to, size_t* needed) {
  constexpr char name[] = "Vectis patches";
  constexpr cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (parameter == CL_LAYER_NAME) return answer(name, sizeof name, room, to, needed);
  if (parameter == CL_LAYER_API_VERSION) return answer(&version, sizeof version, room, to, needed);
  return CL_INVALID_VALUE;
}

VECTIS_LAYER_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* below,
                                                   cl_uint* entries_above, const cl_icd_dispatch** above) {
  constexpr std::size_t slots = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (entries < slots || below == nullptr) return CL_INVALID_VALUE;
  target = below;
  table = *below;
  table.clCreateProgramWithSource = create_program;
  *entries_above = static_cast<cl_uint>(slots);
  *above = &table;
  return CL_SUCCESS;
}
}
