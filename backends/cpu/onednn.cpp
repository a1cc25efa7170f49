#include "backends/cpu/onednn.hpp"

#if VECTIS_ONEDNN
#include "backends/cpu/onednn_convolution.hpp"
#include "backends/cpu/onednn_library.hpp"
#include "vectis/base/cpu.hpp"
#endif

namespace vectis::cpu {

#if VECTIS_ONEDNN

namespace {

constexpr std::uint64_t small_product = std::uint64_t{96} * 96 * 96;  // one thread finishes before others would wake
// The int8 primitive converts its sums through float: exact up to 2^24.
constexpr std::uint64_t exact_depth = 1024;

}  // namespace

class OneDnn::Library : private OneDnnLibrary {
 public:
  explicit Library(const OneDnnLibrary& library) : OneDnnLibrary(library), convolutions(library) {}

  bool multiply(const MatrixProduct& product, std::uint32_t threads) {
    const std::lock_guard lock(onednn_mutex());
    const OneDnnThreads scope(*this, product.m * product.n * product.k <= small_product ? 1 : threads);
    try {
      if (product.type == VECTIS_FLOAT32) {
        multiply_floats(product);
      } else if (product.type == VECTIS_INT8 && product.k > exact_depth) {
        multiply_int8(product);
      } else {
        run_primitive(product);
      }
    } catch (dnnl_status_t) {
      return false;
    }
    return true;
  }

  OneDnnConvolutions convolutions;

 private:
  void multiply_floats(const MatrixProduct& p) {
    const auto dim = [](std::uint64_t value) { return static_cast<dnnl_dim_t>(value); };
    check(dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', dim(p.m), dim(p.n), dim(p.k), p.alpha,
                     static_cast<const float*>(p.a), dim(p.a_stride), static_cast<const float*>(p.b), dim(p.b_stride),
                     p.beta, static_cast<float*>(p.c), dim(p.c_stride)));
  }

  void multiply_int8(const MatrixProduct& p) {
    const auto dim = [](std::uint64_t value) { return static_cast<dnnl_dim_t>(value); };
    const std::int32_t none = 0;
    check(dnnl_gemm_s8s8s32(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', 'F', dim(p.m), dim(p.n), dim(p.k),
                            1.0F, static_cast<const std::int8_t*>(p.a), dim(p.a_stride), 0,
                            static_cast<const std::int8_t*>(p.b), dim(p.b_stride), 0, 0.0F,
                            static_cast<std::int32_t*>(p.c), dim(p.c_stride), &none));
  }

  dnnl_memory_desc_t describe(std::uint64_t rows, std::uint64_t columns, std::uint64_t stride, bool is_transposed,
                              dnnl_data_type_t type) {
    const dnnl_dims_t dims = {static_cast<dnnl_dim_t>(rows), static_cast<dnnl_dim_t>(columns)};
    const auto step = static_cast<dnnl_dim_t>(stride);
    const dnnl_dims_t strides = {is_transposed ? 1 : step, is_transposed ? step : 1};
    dnnl_memory_desc_t description;
    check(dnnl_memory_desc_init_by_strides(&description, 2, dims, type, strides));
    return description;
  }

  // alpha and beta as post-operations of the primitive.
  void set_scales(const MatrixProduct& p, dnnl_primitive_attr_t attributes) {
    if (p.alpha != 1) check(dnnl_primitive_attr_set_output_scales(attributes, 1, 0, &p.alpha));
    if (p.beta == 0) return;
    OneDnnHandle<dnnl_post_ops_t> operations(dnnl_post_ops_destroy);
    check(dnnl_post_ops_create(operations.out()));
    check(dnnl_post_ops_append_sum(operations.get(), p.beta));
    check(dnnl_primitive_attr_set_post_ops(attributes, operations.get()));
  }

  static dnnl_data_type_t type_of(VectisType result) {
    if (result == VECTIS_BFLOAT16) return dnnl_bf16;
    return result == VECTIS_INT32 ? dnnl_s32 : dnnl_f32;
  }

  // oneDNN caches the code of primitives by shape.
  void run_primitive(const MatrixProduct& p) {
    const bool is_int8 = p.type == VECTIS_INT8;
    const dnnl_data_type_t type = is_int8 ? dnnl_s8 : dnnl_bf16;
    const dnnl_memory_desc_t a = describe(p.m, p.k, p.a_stride, p.transpose_a, type);
    const dnnl_memory_desc_t b = describe(p.k, p.n, p.b_stride, p.transpose_b, type);
    const dnnl_memory_desc_t c = describe(p.m, p.n, p.c_stride, false, type_of(p.result));
    dnnl_matmul_desc_t description;
    check(dnnl_matmul_desc_init(&description, &a, &b, nullptr, &c));

    OneDnnHandle<dnnl_engine_t> engine(dnnl_engine_destroy);
    OneDnnHandle<dnnl_stream_t> stream(dnnl_stream_destroy);
    OneDnnHandle<dnnl_primitive_attr_t> attributes(dnnl_primitive_attr_destroy);
    OneDnnHandle<dnnl_primitive_desc_t> plan(dnnl_primitive_desc_destroy);
    OneDnnHandle<dnnl_primitive_t> primitive(dnnl_primitive_destroy);
    check(dnnl_engine_create(engine.out(), dnnl_cpu, 0));
    check(dnnl_stream_create(stream.out(), engine.get(), dnnl_stream_default_flags));
    check(dnnl_primitive_attr_create(attributes.out()));
    set_scales(p, attributes.get());
    check(dnnl_primitive_desc_create(plan.out(), &description, attributes.get(), engine.get(), nullptr));
    check(dnnl_primitive_create(primitive.out(), plan.get()));

    OneDnnHandle<dnnl_memory_t> a_memory(dnnl_memory_destroy);
    OneDnnHandle<dnnl_memory_t> b_memory(dnnl_memory_destroy);
    OneDnnHandle<dnnl_memory_t> c_memory(dnnl_memory_destroy);
    check(dnnl_memory_create(a_memory.out(), &a, engine.get(), const_cast<void*>(p.a)));
    check(dnnl_memory_create(b_memory.out(), &b, engine.get(), const_cast<void*>(p.b)));
    check(dnnl_memory_create(c_memory.out(), &c, engine.get(), p.c));
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, a_memory.get()}, {DNNL_ARG_WEIGHTS, b_memory.get()}, {DNNL_ARG_DST, c_memory.get()}};
    check(dnnl_primitive_execute(primitive.get(), stream.get(), 3, arguments));
    check(dnnl_stream_wait(stream.get()));
  }
};

bool OneDnn::supports(VectisType type) {
  const CpuInfo& cpu = cpu_info();
  const bool is_exact = type == VECTIS_FLOAT32 ||
                        (type == VECTIS_BFLOAT16 && cpu.avx512) ||  // other CPUs have no fast bfloat16
                        // without VNNI products of int8 are added in 16 bits and saturate
                        (type == VECTIS_INT8 && (cpu.avx512_vnni || cpu.amx_int8));
  if (!is_exact) return false;
  std::call_once(opened_, [&] {
    if (const auto opened = OneDnnLibrary::open(host_)) library_ = std::make_unique<Library>(*opened);
  });
  return library_ != nullptr;
}

bool OneDnn::multiply(const MatrixProduct& product, std::uint32_t threads) {
  return library_->multiply(product, threads);
}

std::optional<std::uint64_t> OneDnn::convolution_workspace(const Convolution& convolution, std::uint32_t threads) {
  return library_->convolutions.workspace(convolution, threads);
}

bool OneDnn::convolve(const Convolution& convolution, const ConvolutionArrays& arrays, std::uint32_t threads) {
  return library_->convolutions.run(convolution, arrays, threads);
}

#else

class OneDnn::Library {};

bool OneDnn::supports(VectisType /*type*/) { return false; }
bool OneDnn::multiply(const MatrixProduct& /*product*/, std::uint32_t /*threads*/) { return false; }
std::optional<std::uint64_t> OneDnn::convolution_workspace(const Convolution& /*convolution*/,
                                                           std::uint32_t /*threads*/) {
  return std::nullopt;
}
bool OneDnn::convolve(const Convolution& /*convolution*/, const ConvolutionArrays& /*arrays*/,
                      std::uint32_t /*threads*/) {
  return false;
}

#endif

OneDnn::OneDnn(const VectisHost* host) : host_(host) {}
OneDnn::~OneDnn() = default;

}  // namespace vectis::cpu
