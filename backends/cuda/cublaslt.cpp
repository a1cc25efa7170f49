// cuBLASLt. The used part of its interface is declared here, because its header comes with half a gigabyte of
// libraries. Where the header is installed beside cuda.h the declarations are checked against it.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>

#include "libraries.hpp"
#include "objects.hpp"
#include "vendor_libraries.hpp"

#if defined(VECTIS_HAS_CUBLASLT_HEADER)
#include <cublasLt.h>
#endif

namespace vectis::cuda_hip {

namespace {

// Handles, descriptors and results are declared as pointers, enumerations as ints.
struct LtAlgorithm {
  std::uint64_t data[8];
};
struct LtHeuristicResult {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

constexpr int lt_float32 = 0;
constexpr int lt_float16 = 2;
constexpr int lt_bfloat16 = 14;
constexpr int lt_compute_float32 = 68;
constexpr int lt_transpose_a = 3;
constexpr int lt_transpose_b = 4;
constexpr int lt_workspace_bytes = 1;
constexpr std::array<int, 4> lt_alignments = {5, 6, 7, 8};  // of a, b, c and the result

#if defined(VECTIS_HAS_CUBLASLT_HEADER)
static_assert(sizeof(LtHeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(LtHeuristicResult, status) == offsetof(cublasLtMatmulHeuristicResult_t, state) &&
              sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(lt_float32 == CUDA_R_32F && lt_float16 == CUDA_R_16F && lt_bfloat16 == CUDA_R_16BF &&
              lt_compute_float32 == CUBLAS_COMPUTE_32F && lt_transpose_a == CUBLASLT_MATMUL_DESC_TRANSA &&
              lt_transpose_b == CUBLASLT_MATMUL_DESC_TRANSB && CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 &&
              lt_workspace_bytes == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              lt_alignments[0] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              lt_alignments[3] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES && sizeof(cublasOperation_t) == 4);
static_assert(
    std::is_same_v<decltype(&::cublasLtMatmul),
                   cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                                      cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void*,
                                      const void*, cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t,
                                      const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t)> &&
    std::is_same_v<decltype(&::cublasLtMatmulAlgoGetHeuristic),
                   cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                      cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*, int*)>);
#endif

// NOLINTBEGIN(readability-identifier-naming): the names are the library's
struct LtApi {
  std::size_t (*GetCudartVersion)() = nullptr;
  int (*Create)(void**) = nullptr;
  int (*Destroy)(void*) = nullptr;
  int (*MatmulDescCreate)(void**, int compute, int scale) = nullptr;
  int (*MatmulDescDestroy)(void*) = nullptr;
  int (*MatmulDescSetAttribute)(void*, int, const void*, std::size_t) = nullptr;
  int (*MatrixLayoutCreate)(void**, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride) = nullptr;
  int (*MatrixLayoutDestroy)(void*) = nullptr;
  int (*MatmulPreferenceCreate)(void**) = nullptr;
  int (*MatmulPreferenceDestroy)(void*) = nullptr;
  int (*MatmulPreferenceSetAttribute)(void*, int, const void*, std::size_t) = nullptr;
  int (*MatmulAlgoGetHeuristic)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*) = nullptr;
  int (*Matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                void*, void*, const void*, void*, std::size_t, void*) = nullptr;
};
// NOLINTEND(readability-identifier-naming)

Failure unsupported_product(const std::string& text) { return {VECTIS_UNSUPPORTED, "cuBLASLt: " + text}; }

void check_lt(int code, const char* call) {
  if (code != 0) throw unsupported_product(std::string(call) + " failed with " + std::to_string(code));
}

#define VECTIS_LT(api, member, ...) check_lt((api).member(__VA_ARGS__), "cublasLt" #member)

// A handle or descriptor, destroyed with its owner.
using LtObject = UniqueHandle<void*, int (*)(void*)>;

int type_in_lt(VectisType type) {
  switch (type) {
    case VECTIS_FLOAT32:
      return lt_float32;
    case VECTIS_FLOAT16:
      return lt_float16;
    case VECTIS_BFLOAT16:
      return lt_bfloat16;
    default:
      throw unsupported_product("it multiplies float32, float16 and bfloat16 only");
  }
}

std::uint64_t bytes_in(VectisType type) { return type == VECTIS_FLOAT32 ? 4 : 2; }

Address first_element(const VectisView& view) {
  return offset_address(view.memory->address, view.offset * bytes_in(view.type));
}

// The largest power of two up to 256 that divides the address.
std::uint32_t alignment_of(Address address) {
  std::uint32_t alignment = 256;
  while (address % alignment != 0) alignment /= 2;
  return alignment;
}

// One product. cuBLASLt stores matrices by columns, so a row-major matrix is its transpose there: c' = op(b)' op(a)'.
class LtProduct {
 public:
  LtProduct(const LtApi& api, const VectisOpCall& call)
      : api_(api), left_(call.views[1]), right_(call.views[0]), result_(call.views[2]) {
    VECTIS_LT(api_, MatmulDescCreate, product_.out(), lt_compute_float32, lt_float32);
    set_transpose(lt_transpose_a, call.numbers[1].integer != 0);
    set_transpose(lt_transpose_b, call.numbers[0].integer != 0);
    create_layout(left_, left_layout_);
    create_layout(right_, right_layout_);
    create_layout(result_, result_layout_);
  }

  [[nodiscard]] LtAlgorithm algorithm(void* handle, std::uint64_t workspace_bytes) const {
    LtObject preference(api_.MatmulPreferenceDestroy);
    VECTIS_LT(api_, MatmulPreferenceCreate, preference.out());
    VECTIS_LT(api_, MatmulPreferenceSetAttribute, preference.get(), lt_workspace_bytes, &workspace_bytes,
              sizeof workspace_bytes);
    const std::array views = {&left_, &right_, &result_, &result_};
    for (std::size_t i = 0; i < views.size(); ++i) {
      const std::uint32_t alignment = alignment_of(first_element(*views[i]));
      VECTIS_LT(api_, MatmulPreferenceSetAttribute, preference.get(), lt_alignments[i], &alignment, sizeof alignment);
    }
    LtHeuristicResult found{};
    int count = 0;
    VECTIS_LT(api_, MatmulAlgoGetHeuristic, handle, product_.get(), left_layout_.get(), right_layout_.get(),
              result_layout_.get(), result_layout_.get(), preference.get(), 1, &found, &count);
    if (count < 1) throw unsupported_product("it has no algorithm for this product");
    check_lt(found.status, "cublasLtMatmulAlgoGetHeuristic");
    return found.algorithm;
  }

  void enqueue(void* handle, float alpha, float beta, const LtAlgorithm& algorithm, const Workspace& workspace,
               StreamHandle stream) const {
    const auto pointer = [](const VectisView& view) { return reinterpret_cast<void*>(first_element(view)); };
    VECTIS_LT(api_, Matmul, handle, product_.get(), &alpha, pointer(left_), left_layout_.get(), pointer(right_),
              right_layout_.get(), &beta, pointer(result_), result_layout_.get(), pointer(result_),
              result_layout_.get(), &algorithm, reinterpret_cast<void*>(workspace.address), workspace.bytes, stream);
  }

 private:
  void set_transpose(int which, bool transposed) const {
    const int operation = transposed ? 1 : 0;
    VECTIS_LT(api_, MatmulDescSetAttribute, product_.get(), which, &operation, sizeof operation);
  }
  void create_layout(const VectisView& view, LtObject& layout) const {
    VECTIS_LT(api_, MatrixLayoutCreate, layout.out(), type_in_lt(view.type), view.columns, view.rows,
              static_cast<std::int64_t>(view.stride));
  }

  const LtApi& api_;
  const VectisView& left_;
  const VectisView& right_;
  const VectisView& result_;
  LtObject product_{api_.MatmulDescDestroy};
  LtObject left_layout_{api_.MatrixLayoutDestroy};
  LtObject right_layout_{api_.MatrixLayoutDestroy};
  LtObject result_layout_{api_.MatrixLayoutDestroy};
};

class CublasLt final : public Blas {
 public:
  explicit CublasLt(const LtApi& api) : api_(api), handle_(api.Destroy) { VECTIS_LT(api_, Create, handle_.out()); }

  void multiply(const VectisStream& stream, const VectisOpCall& call, const Workspace& workspace) const override {
    const LtProduct product(api_, call);
    const LtAlgorithm algorithm = product.algorithm(handle_.get(), workspace.bytes);
    product.enqueue(handle_.get(), static_cast<float>(call.numbers[2].real), static_cast<float>(call.numbers[3].real),
                    algorithm, workspace, stream.handle);
  }

 private:
  const LtApi& api_;
  LtObject handle_;
};

class CublasLtLibrary final : public BlasLibrary {
 public:
  explicit CublasLtLibrary(const LtApi& api) : api_(api) {}
  [[nodiscard]] std::unique_ptr<const Blas> create() const override { return std::make_unique<CublasLt>(api_); }

 private:
  LtApi api_;
};

// Whether the library could be opened, has all functions and is not of a newer CUDA than the driver.
bool load_lt(const plugin::Host& host, const std::string& name, int driver_version, LtApi& api) {
  const plugin::Library library = host.open_library(name.c_str());
  if (library.handle == nullptr) return false;
  bool complete = true;
  const auto need = [&](const char* symbol, auto& target) {
    complete = host.find_symbol(library, symbol, target) && complete;
  };
#define VECTIS_LT_NEED(member) need("cublasLt" #member, api.member)
  VECTIS_LT_NEED(GetCudartVersion);
  VECTIS_LT_NEED(Create);
  VECTIS_LT_NEED(Destroy);
  VECTIS_LT_NEED(MatmulDescCreate);
  VECTIS_LT_NEED(MatmulDescDestroy);
  VECTIS_LT_NEED(MatmulDescSetAttribute);
  VECTIS_LT_NEED(MatrixLayoutCreate);
  VECTIS_LT_NEED(MatrixLayoutDestroy);
  VECTIS_LT_NEED(MatmulPreferenceCreate);
  VECTIS_LT_NEED(MatmulPreferenceDestroy);
  VECTIS_LT_NEED(MatmulPreferenceSetAttribute);
  VECTIS_LT_NEED(MatmulAlgoGetHeuristic);
  VECTIS_LT_NEED(Matmul);
#undef VECTIS_LT_NEED
  return complete && static_cast<int>(api.GetCudartVersion() / 1000) <= driver_version / 1000;
}

}  // namespace

// The setting `blas` names the library; "off" disables it.
std::unique_ptr<const BlasLibrary> open_blas(const plugin::Host& host, int driver_version) {
  const char* setting = host.setting("blas");
  LtApi api;
  if (setting != nullptr) {
    const bool loaded = std::string_view(setting) != "off" && load_lt(host, setting, driver_version, api);
    return loaded ? std::make_unique<CublasLtLibrary>(api) : nullptr;
  }
  const LibraryPlaces places = library_places();
  for (const std::string& name : versioned_libraries("libcublasLt", driver_version)) {
    for (const std::string& file : library_files(name, places)) {
      if (load_lt(host, file, driver_version, api)) return std::make_unique<CublasLtLibrary>(api);
    }
  }
  return nullptr;
}

}  // namespace vectis::cuda_hip
