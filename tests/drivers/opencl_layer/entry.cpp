#include "entry.hpp"

#include <cstring>

namespace vectis::test {

namespace {

const cl_icd_dispatch* below_layer = nullptr;
cl_icd_dispatch layer_table{};  // what is above: copies of the functions below, some of them wrapped

}  // namespace

const cl_icd_dispatch* functions_below() { return below_layer; }

cl_int answer_query(const void* value, std::size_t bytes, std::size_t room, void* answer, std::size_t* needed) {
  if (needed != nullptr) *needed = bytes;
  if (answer == nullptr) return CL_SUCCESS;
  if (room < bytes) return CL_INVALID_VALUE;
  std::memcpy(answer, value, bytes);
  return CL_SUCCESS;
}

}  // namespace vectis::test

extern "C" {

VECTIS_LAYER_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info question, size_t room, void* answer,
                                                      size_t* needed) {
  using namespace vectis::test;
  constexpr cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (question == CL_LAYER_NAME) return answer_text(layer_name, room, answer, needed);
  if (question == CL_LAYER_API_VERSION) return answer_query(&version, sizeof version, room, answer, needed);
  return CL_INVALID_VALUE;
}

VECTIS_LAYER_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* below,
                                                   cl_uint* entries_above, const cl_icd_dispatch** above) {
  using namespace vectis::test;
  constexpr std::size_t slots = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (entries < slots || below == nullptr) return CL_INVALID_VALUE;
  below_layer = below;
  layer_table = *below;
  wrap_functions(layer_table);
  *entries_above = static_cast<cl_uint>(slots);
  *above = &layer_table;
  return CL_SUCCESS;
}
}
