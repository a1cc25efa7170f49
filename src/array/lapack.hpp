// LAPACK, which factorizes matrices on the CPU: opened at run time, never linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "vectis/base/executor.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::array {

using LapackInt = std::int32_t;  // INTEGER of Fortran, which Debian's libraries and OpenBLAS have with 32 bits

// The routines for one element type, named without its letter (dgetrf_ is getrf). Arguments are those of Fortran:
// matrices are column-major, and the lengths of all texts come last. `info` is 0 on success.
template <class T>
struct LapackRoutines {
  using Int = LapackInt;
  using Length = std::size_t;

  void (*getrf)(const Int* rows, const Int* columns, T* a, const Int* stride, Int* pivots, Int* info) = nullptr;
  void (*getrs)(const char* transposed, const Int* n, const Int* sides, const T* lu, const Int* stride,
                const Int* pivots, T* b, const Int* b_stride, Int* info, Length) = nullptr;
  void (*trtrs)(const char* triangle, const char* transposed, const char* unit, const Int* n, const Int* sides,
                const T* a, const Int* stride, T* b, const Int* b_stride, Int* info, Length, Length, Length) = nullptr;
  void (*potrf)(const char* triangle, const Int* n, T* a, const Int* stride, Int* info, Length) = nullptr;
  void (*geqrf)(const Int* rows, const Int* columns, T* a, const Int* stride, T* scales, T* work, const Int* work_size,
                Int* info) = nullptr;
  void (*orgqr)(const Int* rows, const Int* columns, const Int* reflectors, T* a, const Int* stride, const T* scales,
                T* work, const Int* work_size, Int* info) = nullptr;
  void (*gesdd)(const char* wanted, const Int* rows, const Int* columns, T* a, const Int* stride, T* s, T* u,
                const Int* u_stride, T* vt, const Int* vt_stride, T* work, const Int* work_size, Int* indices,
                Int* info, Length) = nullptr;
  void (*syevd)(const char* wanted, const char* triangle, const Int* n, T* a, const Int* stride, T* w, T* work,
                const Int* work_size, Int* indices, const Int* indices_size, Int* info, Length, Length) = nullptr;
};

// The service of a Runtime that opens LAPACK at first use. Thread-safe.
class Lapack {
 public:
  explicit Lapack(Runtime& runtime);

  // Throws Unsupported, with the reason and what to install, when LAPACK could not be opened.
  void check(std::string_view op) const;
  // Returns the routines for float or double. Requires check().
  template <class T>
  [[nodiscard]] const LapackRoutines<T>& routines() const noexcept {
    if constexpr (std::is_same_v<T, float>) {
      return single_;
    } else {
      return double_;
    }
  }
  // Calls `body` for ranges that cover [0, count) and may call the routines: in parallel, unless the library has
  // threads of its own. Such a library is called by one thread of the process at a time, as its threads would compete.
  void for_ranges(Executor& executor, std::size_t count, std::size_t grain, const Executor::Range& body) const;

 private:
  LapackRoutines<float> single_;
  LapackRoutines<double> double_;
  bool has_own_threads_ = false;
  std::string problem_;  // empty: usable
};

}  // namespace vectis::inline v0_1::array
