// Data sets: examples that are read by their indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vectis/array/exchange.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::nn {

using array::Tensor;

// Examples of the same fields, such as an image and its label. Derive from it to read examples from elsewhere.
// Thread-safe: a Loader reads batches on the threads of an Executor, also while others read.
class VECTIS_API Dataset {
 public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  // Returns the number of examples; the same at each call.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  // Returns the examples at `indices`, each below size(): for each field an array on the CPU, whose first axis counts
  // the examples.
  [[nodiscard]] virtual std::vector<Tensor> examples(std::span<const std::int64_t> indices) const = 0;
};

// Examples in memory: example i is row i of each field. Thread-safe.
class VECTIS_API TensorDataset final : public Dataset {
 public:
  // Computes the fields and copies those that are on other devices to the CPU. Throws InvalidInput when there is no
  // field, one is a scalar, their first extents differ, or they belong to different Runtimes; and what Tensor::eval()
  // throws.
  explicit TensorDataset(std::span<const Tensor> fields);
  TensorDataset(const Tensor& inputs, const Tensor& labels);

  [[nodiscard]] std::int64_t size() const override { return size_; }
  // Throws InvalidInput for an index that does not exist, Allocation when memory is short.
  [[nodiscard]] std::vector<Tensor> examples(std::span<const std::int64_t> indices) const override;

 private:
  std::vector<array::HostElements> fields_;  // in row-major order
  Runtime* runtime_ = nullptr;               // of the fields
  std::int64_t size_ = 0;
};

// A range of another data set. Thread-safe.
class VECTIS_API DatasetRange final : public Dataset {
 public:
  // Has the examples [begin, end) of `dataset`. Throws InvalidInput unless 0 <= begin <= end <= dataset->size().
  DatasetRange(std::shared_ptr<const Dataset> dataset, std::int64_t begin, std::int64_t end);

  [[nodiscard]] std::int64_t size() const override { return end_ - begin_; }
  [[nodiscard]] std::vector<Tensor> examples(std::span<const std::int64_t> indices) const override;

 private:
  std::shared_ptr<const Dataset> dataset_;
  std::int64_t begin_;
  std::int64_t end_;
};

// Images in a folder of folders: those in the folder "cat" have the class "cat". Reads binary PGM and PPM files when
// they are asked for. Thread-safe.
class VECTIS_API ImageFolder final : public Dataset {
 public:
  // Lists the files "*.pgm" and "*.ppm" in the folders of `path`, in the order of their names. Images are of shape
  // `image`: (channels, height, width). Throws InvalidInput when there is none. `os` must outlive this object.
  ImageFolder(const std::string& path, const Shape& image, const Os& os = real_os());

  // The names of the folders that have images, in increasing order: class i is classes()[i].
  [[nodiscard]] const std::vector<std::string>& classes() const noexcept { return classes_; }
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  // Returns the images, float32 from 0 to 1, and their classes, int64, of the default Runtime. Throws InvalidInput,
  // naming the file, for an image of another shape, and what read_pnm() throws.
  [[nodiscard]] std::vector<Tensor> examples(std::span<const std::int64_t> indices) const override;

 private:
  struct File {
    std::string path;
    std::int64_t number_of_class;
  };
  Shape image_;
  std::vector<std::string> classes_;
  std::vector<File> files_;
};

}  // namespace vectis::inline v0_1::nn
