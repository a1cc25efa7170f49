#include "backends/cpu/onednn.hpp"

#if VECTIS_ONEDNN
#include <oneapi/dnnl/dnnl.h>

#include <new>
#include <string>
#include <string_view>

#include "backends/plugin/host.hpp"
#include "backends/plugin/unique_handle.hpp"
#include "vectis/base/cpu.hpp"

static_assert(DNNL_VERSION_MAJOR == 2, "oneDNN 3 has other primitives: this file supports version 2 only");
#endif

namespace vectis::cpu {

#if VECTIS_ONEDNN

// The functions that are called. The two of OpenMP are looked up through oneDNN, so that they belong to its run time.
#define VECTIS_ONEDNN_FUNCTIONS(X)         \
  X(dnnl_sgemm)                            \
  X(dnnl_gemm_s8s8s32)                     \
  X(dnnl_engine_create)                    \
  X(dnnl_engine_destroy)                   \
  X(dnnl_stream_create)                    \
  X(dnnl_stream_destroy)                   \
  X(dnnl_stream_wait)                      \
  X(dnnl_memory_desc_init_by_strides)      \
  X(dnnl_memory_create)                    \
  X(dnnl_memory_destroy)                   \
  X(dnnl_matmul_desc_init)                 \
  X(dnnl_primitive_attr_create)            \
  X(dnnl_primitive_attr_destroy)           \
  X(dnnl_primitive_attr_set_output_scales) \
  X(dnnl_primitive_attr_set_post_ops)      \
  X(dnnl_post_ops_create)                  \
  X(dnnl_post_ops_destroy)                 \
  X(dnnl_post_ops_append_sum)              \
  X(dnnl_primitive_desc_create)            \
  X(dnnl_primitive_desc_destroy)           \
  X(dnnl_primitive_create)                 \
  X(dnnl_primitive_destroy)                \
  X(dnnl_primitive_execute)

namespace {

// Throws std::bad_alloc when memory is exhausted, otherwise the status, which means that oneDNN cannot compute this.
void check(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) throw status;
}

// An object of oneDNN, destroyed with its owner.
template <class Handle>
using Owned = plugin::UniqueHandle<Handle, dnnl_status_t (*)(Handle)>;

// The process has one OpenMP run time, however many Runtimes there are.
std::mutex& openmp_mutex() {
  static std::mutex mutex;
  return mutex;
}

constexpr std::uint64_t small_product = std::uint64_t{96} * 96 * 96;  // one thread finishes before others would wake
// The int8 primitive converts its sums through float: exact up to 2^24.
constexpr std::uint64_t exact_depth = 1024;

}  // namespace

class OneDnn::Library {
 public:
  // Null, with the reason logged, when oneDNN is not installed or switched off.
  static std::unique_ptr<Library> open(const VectisHost* host) {
    const std::string name = "libdnnl.so." + std::to_string(DNNL_VERSION_MAJOR);
    const plugin::Host services(*host);
    const char* setting = services.setting("onednn");
    const bool is_off = setting != nullptr && std::string_view(setting) == "off";
    const plugin::Library opened = is_off ? plugin::Library{} : services.open_library(name.c_str());
    auto library = std::make_unique<Library>();
    if (opened.handle != nullptr && library->load(services, opened)) return library;
    std::string reason = opened.handle == nullptr ? opened.error : "it lacks functions of version 2.6";
    if (is_off) reason = "switched off by backends.cpu.onednn";
    services.log(VECTIS_LOG_INFO, "matrix products run without oneDNN: " + name + ": " + reason);
    return nullptr;
  }

  bool multiply(const MatrixProduct& product, std::uint32_t threads) {
    const std::lock_guard lock(openmp_mutex());
    const int before = omp_get_max_threads();
    omp_set_num_threads(product.m * product.n * product.k <= small_product ? 1 : static_cast<int>(threads));
    bool is_done = true;
    try {
      if (product.type == VECTIS_FLOAT32) {
        multiply_floats(product);
      } else if (product.type == VECTIS_INT8 && product.k > exact_depth) {
        multiply_int8(product);
      } else {
        run_primitive(product);
      }
    } catch (dnnl_status_t) {
      is_done = false;
    } catch (...) {
      omp_set_num_threads(before);
      throw;
    }
    omp_set_num_threads(before);
    return is_done;
  }

 private:
  bool load(const plugin::Host& host, const plugin::Library& library) {
    const auto find = [&](auto& function, const char* symbol) { return host.find_symbol(library, symbol, function); };
    bool has_all = find(omp_set_num_threads, "omp_set_num_threads") && find(omp_get_max_threads, "omp_get_max_threads");
#define X(function) has_all = has_all && find(this->function, #function);
    VECTIS_ONEDNN_FUNCTIONS(X)
#undef X
    return has_all;
  }

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
    Owned<dnnl_post_ops_t> operations(dnnl_post_ops_destroy);
    check(dnnl_post_ops_create(operations.out()));
    check(dnnl_post_ops_append_sum(operations.get(), p.beta));
    check(dnnl_primitive_attr_set_post_ops(attributes, operations.get()));
  }

  // oneDNN caches the code of primitives by shape.
  void run_primitive(const MatrixProduct& p) {
    const bool is_int8 = p.type == VECTIS_INT8;
    const dnnl_data_type_t type = is_int8 ? dnnl_s8 : dnnl_bf16;
    const dnnl_memory_desc_t a = describe(p.m, p.k, p.a_stride, p.transpose_a, type);
    const dnnl_memory_desc_t b = describe(p.k, p.n, p.b_stride, p.transpose_b, type);
    const dnnl_memory_desc_t c = describe(p.m, p.n, p.c_stride, false, is_int8 ? dnnl_s32 : dnnl_f32);
    dnnl_matmul_desc_t description;
    check(dnnl_matmul_desc_init(&description, &a, &b, nullptr, &c));

    Owned<dnnl_engine_t> engine(dnnl_engine_destroy);
    Owned<dnnl_stream_t> stream(dnnl_stream_destroy);
    Owned<dnnl_primitive_attr_t> attributes(dnnl_primitive_attr_destroy);
    Owned<dnnl_primitive_desc_t> plan(dnnl_primitive_desc_destroy);
    Owned<dnnl_primitive_t> primitive(dnnl_primitive_destroy);
    check(dnnl_engine_create(engine.out(), dnnl_cpu, 0));
    check(dnnl_stream_create(stream.out(), engine.get(), dnnl_stream_default_flags));
    check(dnnl_primitive_attr_create(attributes.out()));
    set_scales(p, attributes.get());
    check(dnnl_primitive_desc_create(plan.out(), &description, attributes.get(), engine.get(), nullptr));
    check(dnnl_primitive_create(primitive.out(), plan.get()));

    Owned<dnnl_memory_t> a_memory(dnnl_memory_destroy);
    Owned<dnnl_memory_t> b_memory(dnnl_memory_destroy);
    Owned<dnnl_memory_t> c_memory(dnnl_memory_destroy);
    check(dnnl_memory_create(a_memory.out(), &a, engine.get(), const_cast<void*>(p.a)));
    check(dnnl_memory_create(b_memory.out(), &b, engine.get(), const_cast<void*>(p.b)));
    check(dnnl_memory_create(c_memory.out(), &c, engine.get(), p.c));
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, a_memory.get()}, {DNNL_ARG_WEIGHTS, b_memory.get()}, {DNNL_ARG_DST, c_memory.get()}};
    check(dnnl_primitive_execute(primitive.get(), stream.get(), 3, arguments));
    check(dnnl_stream_wait(stream.get()));
  }

  // NOLINTBEGIN(readability-identifier-naming): named like the functions they hold
#define X(function) decltype(&::function) function = nullptr;
  VECTIS_ONEDNN_FUNCTIONS(X)
#undef X
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
  // NOLINTEND(readability-identifier-naming)
};

bool OneDnn::supports(VectisType type) {
  const CpuInfo& cpu = cpu_info();
  const bool is_exact = type == VECTIS_FLOAT32 ||
                        (type == VECTIS_BFLOAT16 && cpu.avx512) ||  // other CPUs have no fast bfloat16
                        // without VNNI products of int8 are added in 16 bits and saturate
                        (type == VECTIS_INT8 && (cpu.avx512_vnni || cpu.amx_int8));
  if (!is_exact) return false;
  std::call_once(opened_, [&] { library_ = Library::open(host_); });
  return library_ != nullptr;
}

bool OneDnn::multiply(const MatrixProduct& product, std::uint32_t threads) {
  return library_->multiply(product, threads);
}

#else

class OneDnn::Library {};

bool OneDnn::supports(VectisType /*type*/) { return false; }
bool OneDnn::multiply(const MatrixProduct& /*product*/, std::uint32_t /*threads*/) { return false; }

#endif

OneDnn::OneDnn(const VectisHost* host) : host_(host) {}
OneDnn::~OneDnn() = default;

}  // namespace vectis::cpu
