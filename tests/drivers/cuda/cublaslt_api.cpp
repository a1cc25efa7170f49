// libcublasLt.so: the functions of cuBLASLt that the plug-in calls. The products are plain loops, run by the test
// driver of libcuda.so when its order lets them.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "control.hpp"

namespace {

using namespace vectis::test_driver;  // NOLINT(google-build-using-namespace): the whole file stands on it

constexpr int invalid_value = 7;
constexpr int not_supported = 15;
constexpr int execution_failed = 13;
constexpr int float32 = 0;
constexpr int float16 = 2;
constexpr int bfloat16 = 14;
constexpr int compute_float32 = 68;
constexpr std::uint64_t algorithm_mark = 0x56414c474f524954;

// An object of the library and its attributes.
struct Object {
  enum class Kind { handle, product, layout, preference } kind;
  int type = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t stride = 0;
  std::array<int, 2> turned = {-1, -1};
  std::array<std::uint32_t, 4> alignments = {};
  std::uint64_t workspace_max = 0;
  bool states_workspace = false;
};

std::mutex objects_mutex;
std::map<const void*, std::unique_ptr<Object>> objects;

void add(void** target, const Object& object) {
  const std::lock_guard lock(objects_mutex);
  auto made = std::make_unique<Object>(object);
  *target = made.get();
  objects[*target] = std::move(made);
  Control::get().count(VECTIS_DRIVER_BLAS, 1);
}

Object& find(const void* handle, Object::Kind kind) {
  const std::lock_guard lock(objects_mutex);
  const auto found = objects.find(handle);
  if (found == objects.end() || found->second->kind != kind) refuse(invalid_value, "an object cuBLASLt does not know");
  return *found->second;
}

int destroy(const char* function, const void* handle, Object::Kind kind) {
  return entered(
      function,
      [&] {
        find(handle, kind);
        const std::lock_guard lock(objects_mutex);
        objects.erase(handle);
        Control::get().count(VECTIS_DRIVER_BLAS, -1);
      },
      true);
}

const VectisTestDriver& driver_below() {
  void* library = dlopen(std::getenv("VECTIS_BACKENDS_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(execution_failed, "cuBLASLt finds no driver");
  return *reinterpret_cast<VectisTestDriverEntry>(dlsym(library, VECTIS_TEST_DRIVER_ENTRY))();
}

std::uint64_t element_bytes(int type) { return type == float32 ? 4 : 2; }

double element(const char* begin, int type, std::uint64_t index) {
  const char* place = begin + index * element_bytes(type);
  if (type == float32) {
    float value = 0;
    std::memcpy(&value, place, sizeof value);
    return static_cast<double>(value);
  }
  if (type == float16) {
    _Float16 value = 0;
    std::memcpy(&value, place, sizeof value);
    return static_cast<double>(value);
  }
  std::uint16_t half = 0;
  std::memcpy(&half, place, sizeof half);
  const std::uint32_t word = std::uint32_t{half} << 16U;
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return static_cast<double>(value);
}

// Everything a product needs when its turn comes. Matrices are stored by columns.
struct Job {
  Object product;
  Object a;
  Object b;
  Object c;
  double alpha;
  double beta;
};

std::uint64_t inner(const Object& a, bool turned) { return turned ? a.rows : a.columns; }

void run(void* state, char* const* places) {
  const Job& job = *static_cast<const Job*>(state);
  const auto at = [](const Object& matrix, bool turned, std::uint64_t row, std::uint64_t column) {
    return turned ? row * matrix.stride + column : column * matrix.stride + row;
  };
  const bool turn_a = job.product.turned[0] == 1;
  const bool turn_b = job.product.turned[1] == 1;
  for (std::uint64_t column = 0; column < job.c.columns; ++column) {
    for (std::uint64_t row = 0; row < job.c.rows; ++row) {
      double sum = 0;
      for (std::uint64_t k = 0; k < inner(job.a, turn_a); ++k) {
        sum += element(places[0], job.a.type, at(job.a, turn_a, row, k)) *
               element(places[1], job.b.type, at(job.b, turn_b, k, column));
      }
      const std::uint64_t index = at(job.c, false, row, column);
      double value = job.alpha * sum;
      if (job.beta != 0) value += job.beta * element(places[2], float32, index);
      const auto rounded = static_cast<float>(value);
      std::memcpy(places[2] + index * sizeof rounded, &rounded, sizeof rounded);
    }
  }
}

void check_product(const Object& product, const Object& a, const Object& b, const Object& c) {
  if (product.turned[0] < 0 || product.turned[1] < 0)
    refuse(invalid_value, "a product without its transpose attributes");
  const bool turn_a = product.turned[0] == 1;
  const bool turn_b = product.turned[1] == 1;
  const bool fits = (turn_a ? a.columns : a.rows) == c.rows && (turn_b ? b.rows : b.columns) == c.columns &&
                    inner(a, turn_a) == (turn_b ? b.columns : b.rows);
  if (!fits) refuse(invalid_value, "matrices that do not fit");
  if (a.type != b.type || c.type != float32) refuse(not_supported, "types that cuBLASLt does not multiply");
}

VectisDriverRange range_of(const Object& matrix, const void* begin) {
  const std::uint64_t elements = (matrix.columns - 1) * matrix.stride + matrix.rows;
  return {reinterpret_cast<std::uint64_t>(begin), elements * element_bytes(matrix.type)};
}

// What an algorithm was found for.
struct Algorithm {
  std::uint64_t mark;
  std::array<std::uint32_t, 4> alignments;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t workspace_bytes;
  std::uint64_t rest[2];
};
static_assert(sizeof(Algorithm) == 64);

struct Found {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

void check_algorithm(const Algorithm& algorithm, const Object& c, const std::array<const void*, 4>& matrices) {
  if (algorithm.mark != algorithm_mark || algorithm.rows != c.rows || algorithm.columns != c.columns) {
    refuse(invalid_value, "an algorithm of another product");
  }
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    if (reinterpret_cast<std::uintptr_t>(matrices[i]) % algorithm.alignments[i] == 0) continue;
    refuse(invalid_value, "a matrix that is not aligned as its algorithm was promised");
  }
}

}  // namespace

#define VTD_EXPORT extern "C" __attribute__((visibility("default")))

VTD_EXPORT std::size_t cublasLtGetCudartVersion() {
  entered("cublasLtGetCudartVersion", [] {});
  return 1000 * Control::get().setting("cublaslt", 13);
}

VTD_EXPORT int cublasLtCreate(void** handle) {
  return entered("cublasLtCreate", [&] { add(handle, {Object::Kind::handle}); });
}

VTD_EXPORT int cublasLtDestroy(void* handle) { return destroy("cublasLtDestroy", handle, Object::Kind::handle); }

VTD_EXPORT int cublasLtMatmulDescCreate(void** product, int compute, int scale) {
  return entered("cublasLtMatmulDescCreate", [&] {
    if (compute != compute_float32 || scale != float32) refuse(invalid_value, "a product in other types");
    add(product, {Object::Kind::product});
  });
}

VTD_EXPORT int cublasLtMatmulDescDestroy(void* product) {
  return destroy("cublasLtMatmulDescDestroy", product, Object::Kind::product);
}

VTD_EXPORT int cublasLtMatmulDescSetAttribute(void* product, int which, const void* value, std::size_t bytes) {
  return entered("cublasLtMatmulDescSetAttribute", [&] {
    int operation = 0;
    if ((which != 3 && which != 4) || bytes != sizeof operation) refuse(invalid_value, "an attribute it does not know");
    std::memcpy(&operation, value, sizeof operation);
    find(product, Object::Kind::product).turned[static_cast<std::size_t>(which - 3)] = operation;
  });
}

VTD_EXPORT int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t stride) {
  return entered("cublasLtMatrixLayoutCreate", [&] {
    if (type != float32 && type != float16 && type != bfloat16) refuse(invalid_value, "a type it does not know");
    if (rows == 0 || columns == 0 || stride < static_cast<std::int64_t>(rows)) refuse(invalid_value, "a wrong stride");
    add(layout, {Object::Kind::layout, type, rows, columns, static_cast<std::uint64_t>(stride)});
  });
}

VTD_EXPORT int cublasLtMatrixLayoutDestroy(void* layout) {
  return destroy("cublasLtMatrixLayoutDestroy", layout, Object::Kind::layout);
}

VTD_EXPORT int cublasLtMatmulPreferenceCreate(void** preference) {
  return entered("cublasLtMatmulPreferenceCreate",
                 [&] { add(preference, {Object::Kind::preference, 0, 0, 0, 0, {}, {256, 256, 256, 256}}); });
}

VTD_EXPORT int cublasLtMatmulPreferenceDestroy(void* preference) {
  return destroy("cublasLtMatmulPreferenceDestroy", preference, Object::Kind::preference);
}

VTD_EXPORT int cublasLtMatmulPreferenceSetAttribute(void* preference, int which, const void* value, std::size_t bytes) {
  return entered("cublasLtMatmulPreferenceSetAttribute", [&] {
    Object& preferred = find(preference, Object::Kind::preference);
    if (which == 1 && bytes == sizeof(std::uint64_t)) {
      std::memcpy(&preferred.workspace_max, value, bytes);
      preferred.states_workspace = true;
      return;
    }
    if (which < 5 || which > 8 || bytes != sizeof(std::uint32_t)) refuse(invalid_value, "an attribute it lacks");
    std::memcpy(&preferred.alignments[static_cast<std::size_t>(which - 5)], value, bytes);
  });
}

VTD_EXPORT int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d,
                                              void* preference, int room, void* found, int* count) {
  return entered("cublasLtMatmulAlgoGetHeuristic", [&] {
    find(handle, Object::Kind::handle);
    const Object& result = find(c, Object::Kind::layout);
    const Object& preferred = find(preference, Object::Kind::preference);
    if (c != d || room != 1) refuse(invalid_value, "a result of another layout than what is added");
    if (!preferred.states_workspace) refuse(invalid_value, "algorithms that may need any memory of their own");
    check_product(find(product, Object::Kind::product), find(a, Object::Kind::layout), find(b, Object::Kind::layout),
                  result);
    *count = Control::get().setting("algorithms", 1) != 0 ? 1 : 0;
    // It takes all that it may.
    *static_cast<Found*>(found) = {
        {algorithm_mark, preferred.alignments, result.rows, result.columns, preferred.workspace_max, {}},
        preferred.workspace_max,
        0,
        1,
        {}};
  });
}

VTD_EXPORT int cublasLtMatmul(void* handle, void* product, const void* alpha, const void* a, void* a_layout,
                              const void* b, void* b_layout, const void* beta, const void* c, void* c_layout, void* d,
                              void* d_layout, const void* algorithm, void* workspace, std::size_t workspace_bytes,
                              void* stream) {
  return entered("cublasLtMatmul", [&] {
    find(handle, Object::Kind::handle);
    if (c != d || c_layout != d_layout) refuse(invalid_value, "a product that is not in place");
    if (workspace_bytes < static_cast<const Algorithm*>(algorithm)->workspace_bytes) {
      refuse(invalid_value, "a product with less memory of its own than its algorithm needs");
    }
    float by = 0;
    float plus = 0;
    std::memcpy(&by, alpha, sizeof by);
    std::memcpy(&plus, beta, sizeof plus);
    auto job = std::make_unique<Job>(Job{find(product, Object::Kind::product), find(a_layout, Object::Kind::layout),
                                         find(b_layout, Object::Kind::layout), find(c_layout, Object::Kind::layout),
                                         static_cast<double>(by), static_cast<double>(plus)});
    check_product(job->product, job->a, job->b, job->c);
    check_algorithm(*static_cast<const Algorithm*>(algorithm), job->c, {a, b, c, d});
    std::vector ranges = {range_of(job->a, a), range_of(job->b, b), range_of(job->c, c)};
    if (workspace_bytes != 0) ranges.push_back({reinterpret_cast<std::uint64_t>(workspace), workspace_bytes});
    const auto release = [](void* state) { delete static_cast<Job*>(state); };
    const int code = driver_below().enqueue(stream, ranges.data(), static_cast<std::uint32_t>(ranges.size()), run,
                                            release, job.release());
    if (code != 0) throw Refusal{execution_failed};
  });
}
