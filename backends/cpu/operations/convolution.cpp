// convolution and convolution_workspace: by oneDNN where it is installed. They belong to the CPU alone: the array layer
// calls them, and computes convolutions by other operations where they are unsupported.
//
// Views of `convolution`, one row each: input, weights, output, workspace (int8). Views of `convolution_workspace`: one
// row of two int32, which receives the low and the high half of the bytes of workspace. Parameters of both: the target
// (0 output, 1 gradient of the input, 2 gradient of the weights), the element type, the number of axes, batch, groups,
// channels of the input, channels of the output; then for each axis the extents of input, output and window, the step,
// the padding and the dilation.

#include "backends/cpu/convolution.hpp"

#include <array>
#include <cstring>
#include <optional>

#include "backends/cpu/onednn.hpp"
#include "backends/cpu/operation.hpp"
#include "vectis/base/cpu.hpp"

namespace vectis::cpu {

namespace {

constexpr std::size_t fixed_parameters = 7;
constexpr std::size_t axis_parameters = 6;

// Returns nothing when oneDNN does not compute the type fast.
std::optional<Convolution> convolution_of(const Call& call) {
  const auto number = [&](std::size_t index) { return call.integer(index, 0); };
  Convolution result{static_cast<ConvolutionTarget>(number(0)),
                     static_cast<VectisType>(number(1)),
                     static_cast<std::size_t>(number(2)),
                     number(3),
                     number(4),
                     number(5),
                     number(6),
                     {}};
  for (std::size_t i = 0; i < result.axes; ++i) {
    const std::size_t first = fixed_parameters + i * axis_parameters;
    result.along[i] = {number(first),     number(first + 1), number(first + 2),
                       number(first + 3), number(first + 4), number(first + 5)};
  }
  // Without instructions for it, bfloat16 is slower than float32.
  const bool is_fast = result.type == VECTIS_FLOAT32 ||
                       (result.type == VECTIS_BFLOAT16 && (cpu_info().avx512_bf16 || cpu_info().amx_bf16));
  if (!is_fast || !call.onednn.supports(result.type)) return std::nullopt;
  return result;
}

VectisStatus convolution_workspace(const Call& call) {
  const std::optional<Convolution> convolution = convolution_of(call);
  if (!convolution) return VECTIS_UNSUPPORTED;
  const std::optional<std::uint64_t> bytes = call.onednn.convolution_workspace(*convolution, call.threads.count());
  if (!bytes) return VECTIS_UNSUPPORTED;
  const std::array<std::uint32_t, 2> halves = {static_cast<std::uint32_t>(*bytes),
                                               static_cast<std::uint32_t>(*bytes >> 32U)};
  std::memcpy(row_of(call.views[0], 0), halves.data(), sizeof halves);
  return VECTIS_OK;
}

VectisStatus convolution(const Call& call) {
  const std::optional<Convolution> convolution = convolution_of(call);
  if (!convolution) return VECTIS_UNSUPPORTED;
  const VectisView& workspace = call.views[3];
  const ConvolutionArrays arrays{row_of(call.views[0], 0),
                                 row_of(call.views[1], 0),
                                 row_of(call.views[2], 0),
                                 {row_of(workspace, 0), workspace.columns}};
  return call.onednn.convolve(*convolution, arrays, call.threads.count()) ? VECTIS_OK : VECTIS_UNSUPPORTED;
}

constexpr std::array<NamedOperation, 2> operations{
    {{"convolution", convolution}, {"convolution_workspace", convolution_workspace}}};

}  // namespace

std::span<const NamedOperation> convolution_operations() { return operations; }

}  // namespace vectis::cpu
