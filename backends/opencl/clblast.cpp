// run_op: the named operations that CLBlast computes faster than the portable kernels.
#include "clblast.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"
#include "query.hpp"

namespace vectis::opencl {

namespace {

// Values of CLBlast's enumerations.
constexpr int row_major = 101;
constexpr int not_transposed = 111;
constexpr int transposed = 112;

// c = alpha * op(a) * op(b) + beta * c in float32.
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
  const bool transpose_a = call.numbers[0].integer != 0;
  const bool transpose_b = call.numbers[1].integer != 0;
  cl_command_queue queue = stream.queue.get();
  stream.tracker->reserve();
  cl_event event = nullptr;
  const int code =
      sgemm(row_major, transpose_a ? transposed : not_transposed, transpose_b ? transposed : not_transposed, c.rows,
            c.columns, transpose_a ? a.rows : a.columns, static_cast<float>(call.numbers[2].real),
            a.memory->buffer.get(), a.offset, a.stride, b.memory->buffer.get(), b.offset, b.stride,
            static_cast<float>(call.numbers[3].real), c.memory->buffer.get(), c.offset, c.stride, &queue, &event);
  if (code != CL_SUCCESS) {
    stream.clblast.disable(code);
    return VECTIS_UNSUPPORTED;
  }
  track(stream, Owned<cl_event>(event, stream.api.ReleaseEvent), "CLBlastSgemm");
  return VECTIS_OK;
}

}  // namespace

ClblastSgemm Clblast::sgemm(bool for_gpu) {
  const char* const setting = host_.setting("clblast");
  const std::string_view wanted = setting == nullptr ? "" : setting;
  if (wanted == "off" || (!for_gpu && wanted != "on")) return nullptr;
  const std::lock_guard lock(mutex_);
  if (std::exchange(opened_, true)) return sgemm_;
  const plugin::Library library = host_.open_library("libclblast.so.1");
  if (library.handle != nullptr) host_.find_symbol(library, "CLBlastSgemm", sgemm_);
  return sgemm_;
}

void Clblast::disable(int code) {
  const std::lock_guard lock(mutex_);
  if (sgemm_ == nullptr) return;
  sgemm_ = nullptr;
  host_.log(VECTIS_LOG_WARNING, "CLBlast failed with status " + std::to_string(code) +
                                    " and is not used any more: the portable kernel computes matrix products");
}

}  // namespace vectis::opencl

namespace vectis::plugin {

VectisStatus run_op(VectisStream* stream, const VectisOpCall* call) {
  return std::string_view(call->name) == "matmul" ? opencl::multiply(*stream, *call) : VectisStatus{VECTIS_UNSUPPORTED};
}

}  // namespace vectis::plugin
