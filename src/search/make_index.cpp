#include <fmt/format.h>

#include <new>
#include <utility>

#include "search/exact/checks.hpp"
#include "search/exact/exact_format.hpp"
#include "search/exact/exact_index.hpp"
#include "search/exact/searcher.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view kind_brute = "brute";
constexpr std::string_view kind_gpu = "gpu";
constexpr std::string_view kind_auto = "auto";

// The name as a text that lives for ever.
std::string_view known_kind(std::string_view op, std::string_view kind) {
  for (const std::string_view known : {kind_brute, kind_gpu, kind_auto}) {
    if (kind == known) return known;
  }
  throw Error(ErrorCode::unsupported_backend, op,
              fmt::format("there is no index '{}'; there are 'brute', 'gpu' and 'auto'", kind));
}

std::unique_ptr<exact::Searcher> searcher_for(Runtime& runtime, std::string_view kind) {
  if (kind == kind_brute) return exact::make_host_searcher(runtime.executor(), "the index is 'brute'");
  const DeviceRequest request{.device = "gpu"};
  if (kind == kind_gpu) {
    const DeviceChoice choice = choose_device(runtime, request);
    throw Error(ErrorCode::unsupported_backend, "make_index",
                fmt::format("{} cannot scan an index yet; use 'brute' or 'auto'", choice.device.label()));
  }
  std::string reason;
  try {
    reason = fmt::format("{} cannot scan an index yet", choose_device(runtime, request).device.label());
  } catch (const Error& error) {
    reason = error.what();
  }
  return exact::make_host_searcher(runtime.executor(), "'auto' fell back to the CPU: " + reason);
}

}  // namespace

std::unique_ptr<Index> make_index(std::string_view kind, std::size_t dim, Distance distance, Runtime& runtime) {
  kind = known_kind("make_index", kind);
  exact::check_dim("make_index", dim);
  auto corpus = std::make_unique<exact::Corpus>(runtime.executor(), distance, dim, exact::default_precision(distance));
  return std::make_unique<exact::ExactIndex>(runtime, kind, std::move(corpus), searcher_for(runtime, kind));
}

std::unique_ptr<Index> load_index(ByteReader& reader, Runtime& runtime) {
  runtime.check_fork("load_index");
  try {
    exact::LoadedExact loaded = exact::load_exact(reader, runtime.executor());
    return std::make_unique<exact::ExactIndex>(runtime, loaded.kind, std::move(loaded.corpus),
                                               searcher_for(runtime, loaded.kind));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::allocation, "load_index",
                "no memory for what is being read; close something, or load it "
                "on a larger machine");
  }
}

}  // namespace vectis::inline v0_1
