// Operations that a library of the vendor's or the user's does better than the portable kernels.
#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "objects.hpp"
#include "query.hpp"
#include "slots.hpp"
#include "status.hpp"
#include "submit.hpp"

namespace vectis::opencl {

namespace {

constexpr int row_major = 101;
constexpr int as_it_is = 111;
constexpr int transposed = 112;

// c = alpha * op(a) * op(b) + beta * c in binary32.
VectisStatus multiply(VectisStream& stream, const VectisOpCall& call) {
  const std::span views(call.views, call.view_count);
  const auto is_float = [](const VectisView& view) { return view.type == VECTIS_FLOAT32; };
  if (!std::all_of(views.begin(), views.end(), is_float)) return VECTIS_UNSUPPORTED;
  const auto type = device_value<cl_device_type>(stream.api, stream.device, CL_DEVICE_TYPE);
  const ClblastSgemm sgemm = stream.clblast.sgemm((type & CL_DEVICE_TYPE_GPU) != 0);
  if (sgemm == nullptr) return VECTIS_UNSUPPORTED;
  const VectisView& a = views[0];
  const VectisView& b = views[1];
  const VectisView& c = views[2];
  const bool turn_a = call.numbers[0].integer != 0;
  const bool turn_b = call.numbers[1].integer != 0;
  cl_command_queue queue = stream.queue.get();
  stream.progress->make_room();
  cl_event event = nullptr;
  const int code =
      sgemm(row_major, turn_a ? transposed : as_it_is, turn_b ? transposed : as_it_is, c.rows, c.columns,
            turn_a ? a.rows : a.columns, static_cast<float>(call.numbers[2].real), a.memory->buffer.get(), a.offset,
            a.stride, b.memory->buffer.get(), b.offset, b.stride, static_cast<float>(call.numbers[3].real),
            c.memory->buffer.get(), c.offset, c.stride, &queue, &event);
  if (code != CL_SUCCESS) {
    stream.clblast.give_up(code);
    return VECTIS_UNSUPPORTED;
  }
  keep(stream, Owned<cl_event>(event, stream.api.ReleaseEvent), "CLBlastSgemm");
  return VECTIS_OK;
}

}  // namespace

VectisStatus run_op(VectisStream* stream, const VectisOpCall* call, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    return std::string_view(call->name) == "matmul" ? multiply(*stream, *call) : VectisStatus{VECTIS_UNSUPPORTED};
  });
}

}  // namespace vectis::opencl
