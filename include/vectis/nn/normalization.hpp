// Normalization over the batch, over features and over groups of channels. Results have the type of the input, of
// integers float32.
#pragma once

#include <cstdint>
#include <string_view>

#include "vectis/array/shape.hpp"
#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

struct BatchNormOptions {
  double epsilon = 1e-5;            // is added to the variance
  double momentum = 0.1;            // the share of a batch in the running mean and variance
  bool affine = true;               // whether the result is scaled and shifted by parameters
  array::TensorOptions where = {};  // where the tensors are made
};
// Normalizes each channel of (batch, channels) or (batch, channels, extents ...): in training by the mean and variance
// of the batch, which it adds to the running ones, in inference by those (Ioffe and Szegedy, 2015).
class VECTIS_API BatchNorm {
 public:
  static constexpr std::string_view kind = "BatchNorm";

  // Throws InvalidInput unless `channels` is positive and the numbers of the options are finite and at least 0.
  explicit BatchNorm(std::int64_t channels, const BatchNormOptions& given = {});

  // Throws InvalidInput for other channels, and in training for one element in each channel, which has no variance.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {});
  void visit(Visitor& visitor);

  Tensor weight;               // (channels,)
  Tensor bias;                 // (channels,)
  Tensor running_mean;         // (channels,)
  Tensor running_var;          // (channels,), of a sample: divided by the number of elements - 1
  Tensor num_batches_tracked;  // one number, int32
  BatchNormOptions options;
};

struct NormOptions {
  double epsilon = 1e-5;            // is added to the variance, or to the mean square
  bool affine = true;               // whether the result is scaled, and shifted except by RMSNorm, by parameters
  array::TensorOptions where = {};  // where the tensors are made
};
// Normalizes the last axes, whose extents are `shape`, by their mean and variance (Ba et al., 2016).
class VECTIS_API LayerNorm {
 public:
  static constexpr std::string_view kind = "LayerNorm";

  // Throws InvalidInput unless `shape` has axes, their extents are positive, and epsilon is finite and at least 0.
  explicit LayerNorm(const Shape& shape, const NormOptions& given = {});

  // Throws InvalidInput for other last extents.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  Tensor weight;  // of the normalized shape
  Tensor bias;
  Shape normalized;
  NormOptions options;
};

// Divides the last axes, whose extents are `shape`, by the root of their mean square (Zhang and Sennrich, 2019).
class VECTIS_API RMSNorm {
 public:
  static constexpr std::string_view kind = "RMSNorm";

  // Throws InvalidInput unless `shape` has axes, their extents are positive, and epsilon is finite and at least 0.
  explicit RMSNorm(const Shape& shape, const NormOptions& given = {});

  // Throws InvalidInput for other last extents.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  Tensor weight;  // of the normalized shape
  Shape normalized;
  NormOptions options;
};

// Normalizes groups of channels of (batch, channels, extents ...) by their mean and variance (Wu and He, 2018). With as
// many groups as channels it is instance normalization.
class VECTIS_API GroupNorm {
 public:
  static constexpr std::string_view kind = "GroupNorm";

  // Throws InvalidInput unless `channels` divide into `groups` and epsilon is finite and at least 0.
  GroupNorm(std::int64_t groups, std::int64_t channels, const NormOptions& given = {});

  // Throws InvalidInput for other channels.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  Tensor weight;  // (channels,)
  Tensor bias;    // (channels,)
  std::int64_t groups;
  std::int64_t channels;
  NormOptions options;
};

}  // namespace vectis::inline v0_1::nn
