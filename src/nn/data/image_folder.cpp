#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/dataset.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view image_folder_op = "image_folder";

bool is_image(std::string_view name) noexcept { return name.ends_with(".pgm") || name.ends_with(".ppm"); }

}  // namespace

ImageFolder::ImageFolder(const std::string& path, const Shape& image, const Os& os) : image_(image) {
  for (const std::string& folder : os.list_directory(path)) {
    const auto number = static_cast<std::int64_t>(classes_.size());
    for (const std::string& file : os.list_directory(path + "/" + folder)) {
      if (is_image(file)) files_.push_back({fmt::format("{}/{}/{}", path, folder, file), number});
    }
    if (!files_.empty() && files_.back().number_of_class == number) classes_.push_back(folder);
  }
  if (image.rank() != 3) {
    throw_invalid(image_folder_op,
                  fmt::format("images cannot have the shape {}; give (channels, height, width)", to_string(image)));
  }
  if (files_.empty()) {
    throw_invalid(image_folder_op,
                  fmt::format("the folders in {} have no .pgm or .ppm files; put the images of each class "
                              "into a folder of its own",
                              path));
  }
}

std::vector<Tensor> ImageFolder::examples(std::span<const std::int64_t> indices) const {
  std::vector<Tensor> images;
  std::vector<std::int64_t> labels;
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= size()) {
      throw_invalid(image_folder_op,
                    fmt::format("example {} was asked for, but there are {}; count from 0", index, size()));
    }
    const File& file = files_[static_cast<std::size_t>(index)];
    images.push_back(read_pnm(file.path));
    labels.push_back(file.number_of_class);
    if (images.back().shape() != image_) {
      throw_invalid(image_folder_op, fmt::format("{} has the shape {}, not {}; resize the images first", file.path,
                                                 to_string(images.back().shape()), to_string(image_)));
    }
  }
  Shape shape = image_;
  shape.insert(0, static_cast<std::int64_t>(indices.size()));
  const Tensor pixels = images.empty() ? array::zeros(shape, DType::uint8) : array::stack(images);
  return {pixels.astype(DType::float32) / 255, Tensor::from_cpu(labels, {shape[0]})};
}

}  // namespace vectis::inline v0_1::nn
