// The entry of an OpenCL layer, which the layers of the tests share: entry.cpp answers the loader. Each layer defines
// its name and what it wraps.
#pragma once

#include <CL/cl_layer.h>

#include <cstddef>
#include <string>

#define VECTIS_LAYER_EXPORT __attribute__((visibility("default")))

namespace vectis::test {

// Defined by each layer: the name that it reports to the loader.
extern const char* const layer_name;
// Defined by each layer: replaces the functions in `table`, a copy of the table below it, that the layer wraps. The
// loader's first call of the layer calls it, once.
void wrap_functions(cl_icd_dispatch& table);

// The functions below the layer: those of the next layer, or of the loader. Null until the loader opens the layer.
const cl_icd_dispatch* functions_below();

// Answers as the info functions of OpenCL do: sets *needed to `bytes`, and copies `value` to `answer`, whose capacity
// is `room`. Both may be null. Returns CL_INVALID_VALUE when the capacity is too small.
cl_int answer_query(const void* value, std::size_t bytes, std::size_t room, void* answer, std::size_t* needed);

// Answers with the characters of `text` and a null character.
inline cl_int answer_text(const std::string& text, std::size_t room, void* answer, std::size_t* needed) {
  return answer_query(text.c_str(), text.size() + 1, room, answer, needed);
}

}  // namespace vectis::test
