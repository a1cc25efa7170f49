// Safetensors files, the format of Hugging Face for the weights of models: named tensors and texts, nothing executable.
// Files may be hostile: sizes are checked before memory is allocated, and an error names the file.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "vectis/base/bytes.hpp"
#include "vectis/base/export.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::inline v0_1::nn {

// Texts by name, such as {"format", "pt"}.
using SafeTensorsMetadata = std::map<std::string, std::string, std::less<>>;

// What a file has. A value.
struct SafeTensors {
  StateDict tensors;  // in the order of their elements in the file
  SafeTensorsMetadata metadata;
};

// Returns the content of the file at `path`, with tensors on the CPU unless `where` has a device. Throws CorruptData
// when the file is not as the format demands: at least what Hugging Face's reader refuses, and also an unknown member,
// an empty name, a name that occurs twice, and an element of type BOOL other than 0 and 1. Throws Unsupported for an
// element type that arrays or the device do not have, such as U16 or F8_E4M3, and Io when the file cannot be read.
VECTIS_API SafeTensors read_safetensors(const std::string& path, const array::TensorOptions& where = {});
// Returns the content of the bytes of a file. Throws as read_safetensors does.
VECTIS_API SafeTensors parse_safetensors(std::span<const std::byte> bytes, const array::TensorOptions& where = {});
// Returns the tensors of the file at `path`. Throws as read_safetensors does.
VECTIS_API StateDict load_safetensors(const std::string& path, const array::TensorOptions& where = {});

// Writes tensors and texts. The bytes are those that Hugging Face's library writes: tensors by decreasing size of their
// elements, then by name. Texts are in the order of their names, which that library does not promise. Throws
// InvalidInput for a name or text that is not UTF-8, a tensor without a name or with the name "__metadata__", and a
// header of more than 100 MB; Io when the bytes cannot be written, and what Tensor::eval() throws.
VECTIS_API void save_safetensors(ByteWriter& writer, const StateDict& state, const SafeTensorsMetadata& metadata = {});
// The same to the file at `path`, which is replaced in one step.
VECTIS_API void save_safetensors(const std::string& path, const StateDict& state,
                                 const SafeTensorsMetadata& metadata = {});

}  // namespace vectis::inline v0_1::nn
