// Readers of data sets: IDX (MNIST), NumPy's .npy, CSV, PGM and PPM images. Files may be hostile: sizes are checked
// before memory is allocated, and an error names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/array/tensor.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1::nn {

using array::Tensor;

// Returns the array in an IDX file, the format of MNIST ("train-images-idx3-ubyte", decompressed). Elements of 16 bits
// become int32. Throws CorruptData when header and size of the file do not fit, Io when it cannot be read.
VECTIS_API Tensor read_idx(const std::string& path);
// Returns the array in the bytes of an IDX file. Throws CorruptData as read_idx does.
VECTIS_API Tensor parse_idx(std::span<const std::byte> bytes);

// Returns the array in a .npy file of format version 1 to 3, little- or big-endian, in C or Fortran order. Throws
// CorruptData when header and size of the file do not fit, Unsupported for an element type that arrays do not have,
// such as uint16 or objects, Io when the file cannot be read.
VECTIS_API Tensor read_npy(const std::string& path);
// Returns the array in the bytes of a .npy file. Throws as read_npy does.
VECTIS_API Tensor parse_npy(std::span<const std::byte> bytes);
// Writes an array as .npy, which numpy.load() reads. Throws Unsupported for bfloat16, which NumPy lacks, Io when the
// bytes cannot be written, and what Tensor::eval() throws.
VECTIS_API void write_npy(ByteWriter& writer, const Tensor& x);
// The same to the file at `path`, which is replaced in one step.
VECTIS_API void write_npy(const std::string& path, const Tensor& x);

// Returns the image in a binary PGM or PPM file (Netpbm's "P5" and "P6") with at most 8 bits per sample: uint8, of
// shape (channels, height, width) with 1 or 3 channels, scaled to 0 to 255 when the file's largest sample is another.
// Throws CorruptData when header and size of the file do not fit or a sample is larger than the largest one,
// Unsupported for samples of 16 bits, Io when it cannot be read.
VECTIS_API Tensor read_pnm(const std::string& path);
// Returns the image in the bytes of such a file. Throws as read_pnm does.
VECTIS_API Tensor parse_pnm(std::span<const std::byte> bytes);

// Options of read_csv().
struct CsvOptions {
  char delimiter = ',';
  // Whether the first row has the names of the columns. Empty: it has them when one of its fields is not a number.
  std::optional<bool> header = std::nullopt;
  // Takes the place of empty fields. Empty: they are errors.
  std::optional<float> missing = std::nullopt;
};
// A table of numbers.
struct CsvTable {
  std::vector<std::string> columns;  // names; empty without a header
  Tensor values;                     // float32, of shape (rows, columns)

  // Returns the position of the column `name`. Throws InvalidInput, with the names that exist, when there is none.
  [[nodiscard]] VECTIS_API std::int64_t column(std::string_view name) const;
};
// Returns the numbers in a CSV file: fields may stand in double quotes, lines end with LF or CRLF, empty lines are
// skipped. Throws CorruptData, with line and column, for rows of different lengths and fields that are no numbers;
// InvalidInput for a delimiter that numbers contain, Io when the file cannot be read.
VECTIS_API CsvTable read_csv(const std::string& path, const CsvOptions& options = {});
// Returns the numbers in the text of a CSV file. Throws as read_csv does.
VECTIS_API CsvTable parse_csv(std::string_view text, const CsvOptions& options = {});

}  // namespace vectis::inline v0_1::nn
