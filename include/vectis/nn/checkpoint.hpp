// Checkpoints: everything that training continues from, in one file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "vectis/base/bytes.hpp"
#include "vectis/base/export.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::inline v0_1::nn {

// Named tensors and values. Training stores in it the state of the module ("module.hidden.weight"), of the optimizer,
// of random generators, and the position in the data; programs may add their own. A value.
struct VECTIS_API Checkpoint {
  StateDict tensors = {};
  std::map<std::string, std::int64_t, std::less<>> integers = {};
  std::map<std::string, double, std::less<>> numbers = {};
  std::map<std::string, std::string, std::less<>> texts = {};

  // Adds the tensors of `state` as "<prefix>.<name>". Throws InvalidInput when a name exists.
  void add(std::string_view prefix, const StateDict& state);
  // Returns the tensors "<prefix>.<name>" by their names.
  [[nodiscard]] StateDict state(std::string_view prefix) const;
  // Returns the integer or number of a name. Throws InvalidInput when there is none.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
};

// Writes a checkpoint; docs/formats/checkpoint.md has the format. Throws InvalidInput for a name of more than 4,096
// bytes or a text of more than 1 MiB, Io when the bytes cannot be written, and what Tensor::eval() throws.
VECTIS_API void save_checkpoint(ByteWriter& writer, const Checkpoint& checkpoint);
// The same to the file at `path`, which is replaced in one step after all bytes are on the disk: a process that is
// killed at any point leaves the old file or the new one.
VECTIS_API void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads what save_checkpoint() wrote, with tensors on the CPU. Memory grows with the bytes that are there, not with
// sizes in the file. Throws CorruptData when a checksum is wrong, the bytes end early or are not those of a checkpoint,
// Unsupported for a newer format, Io when the file cannot be read.
[[nodiscard]] VECTIS_API Checkpoint load_checkpoint(ByteReader& reader);
// The same from a file, which must end with the checkpoint.
[[nodiscard]] VECTIS_API Checkpoint load_checkpoint(const std::string& path);

}  // namespace vectis::inline v0_1::nn
