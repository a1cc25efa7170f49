#include "array/lapack.hpp"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <vector>

#include "device/plugin.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1::array {

namespace {

// The first is LAPACK under the name that distributions give to every implementation, also to OpenBLAS where it was
// chosen; the second OpenBLAS alone.
constexpr const char* lapack_names[] = {"liblapack.so.3", "libopenblas.so.0"};

// The process has one copy of a library, however many Runtimes there are.
std::mutex& lapack_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Finds the routines for one type, whose names start with `letter`. Returns the name of one that is missing, or
// nothing.
template <class T>
std::optional<std::string> load_routines(const Os& os, void* library, char letter, LapackRoutines<T>& routines) {
  std::optional<std::string> missing;
  const auto find = [&]<class Routine>(Routine& routine, std::string_view name) {
    const std::string symbol = fmt::format("{}{}_", letter, name);
    routine = reinterpret_cast<Routine>(os.symbol(library, symbol));
    if (routine == nullptr) missing = symbol;
  };
  find(routines.getrf, "getrf");
  find(routines.getrs, "getrs");
  find(routines.trtrs, "trtrs");
  find(routines.potrf, "potrf");
  find(routines.geqrf, "geqrf");
  find(routines.orgqr, "orgqr");
  find(routines.gesdd, "gesdd");
  find(routines.syevd, "syevd");
  return missing;
}

}  // namespace

Lapack::Lapack(Runtime& runtime) {
  const std::optional<std::string> setting = runtime.settings().backend("cpu", "lapack");
  if (setting == "off") {
    problem_ = "it is switched off by backends.cpu.lapack";
    return;
  }
  std::vector<std::string> names(std::begin(lapack_names), std::end(lapack_names));
  if (setting) names = {*setting};
  const Os& os = runtime.os();
  for (const std::string& name : names) {
    const OpenedLibrary library = detail::open_library(os, runtime.settings(), name);
    std::optional<std::string> missing;
    if (library.handle != nullptr) {
      missing = load_routines(os, library.handle, 's', single_);
      if (!missing) missing = load_routines(os, library.handle, 'd', double_);
    }
    if (library.handle != nullptr && !missing) {
      problem_.clear();
      has_own_threads_ = os.symbol(library.handle, "openblas_get_num_threads") != nullptr ||
                         os.symbol(library.handle, "MKL_Get_Max_Threads") != nullptr;
      return;
    }
    if (!problem_.empty()) problem_ += "; ";
    problem_ += missing ? fmt::format("{} lacks {}", name, *missing) : library.error;
  }
}

void Lapack::check(std::string_view op) const {
  if (problem_.empty()) return;
  throw Error(ErrorCode::unsupported, op,
              fmt::format("LAPACK cannot be used: {}; install it (Debian, Ubuntu: liblapack3, or the faster "
                          "libopenblas0-pthread), or name its library by the setting backends.cpu.lapack",
                          problem_));
}

void Lapack::for_ranges(Executor& executor, std::size_t count, std::size_t grain, const Executor::Range& body) const {
  if (!has_own_threads_) return executor.parallel_for(count, grain, body);
  const std::scoped_lock lock(lapack_mutex());
  body(0, count);
}

}  // namespace vectis::inline v0_1::array
