#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "search/auto_index.hpp"
#include "search/exact/checks.hpp"
#include "search/exact/exact_format.hpp"
#include "search/exact/exact_index.hpp"
#include "search/exact/searcher.hpp"
#include "search/exact/summed.hpp"
#include "search/graph/format.hpp"
#include "search/graph/graph_index.hpp"
#include "search/searchers.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view kind_brute = "brute";
constexpr std::string_view kind_gpu = "gpu";
constexpr std::string_view kind_auto = "auto";
constexpr std::string_view kind_graph = graph::kind_hnsw;

// The name as a text that lives for ever.
std::string_view known_kind(std::string_view op, std::string_view kind) {
  for (const std::string_view known : {kind_brute, kind_gpu, kind_auto, kind_graph}) {
    if (kind == known) return known;
  }
  throw Error(ErrorCode::unsupported_backend, op,
              fmt::format("there is no index '{}'; there are 'brute', 'gpu', 'auto' and 'hnsw'", kind));
}

// Devices named one after the other by the setting gpu.devices, each as forced as if it were asked for alone.
std::vector<Device> named_devices(Runtime& runtime, std::string_view names) {
  std::vector<Device> devices;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    std::string_view one = names.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    devices.push_back(choose_device(runtime, {.device = std::string(one)}).device);
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return devices;
}

exact::DeviceSplit split_of(const Runtime& runtime) {
  const Setting setting = runtime.settings().get("gpu.split");
  if (setting.value == "shards") return exact::DeviceSplit::shards;
  if (setting.value == "replicas") return exact::DeviceSplit::replicas;
  throw Error(ErrorCode::invalid_input, "make_index",
              fmt::format("gpu.split is '{}' by {}; it may be 'shards' or 'replicas'", setting.value, setting.source));
}

// The devices a call names; empty when it leaves the choice to the index.
std::optional<IndexDevices> asked_devices(Runtime& runtime, const IndexOptions& options) {
  if (!options.device || *options.device == "auto") return std::nullopt;
  return IndexDevices{named_devices(runtime, *options.device),
                      fmt::format("'{}' was asked for by the call", *options.device)};
}

bool only_cpu(std::span<const Device> devices) {
  return std::ranges::all_of(devices, [](const Device& device) { return device.backend() == "cpu"; });
}

std::unique_ptr<exact::Searcher> gpu_searcher(Runtime& runtime) {
  const Setting named = runtime.settings().get("gpu.devices");
  if (!named.value.empty()) {
    return exact::make_device_searcher(runtime, named_devices(runtime, named.value), split_of(runtime),
                                       fmt::format("gpu.devices names them, by {}", named.source));
  }
  const Device active = active_device(runtime);
  if (active.backend() != "cpu") {
    return exact::make_device_searcher(runtime, std::span(&active, 1), exact::DeviceSplit::shards,
                                       "it was the active device when the index was made");
  }
  const DeviceChoice choice = choose_device(runtime, {.device = "gpu"});
  return exact::make_device_searcher(runtime, std::span(&choice.device, 1), exact::DeviceSplit::shards, choice.reason);
}

// Whole devices that may be used unasked, or that the settings allow; not the CPU, which is always a candidate.
std::vector<Device> automatic_devices(Runtime& runtime) {
  std::vector<Device> devices = allowed_devices(runtime);
  std::erase_if(devices, [](const Device& device) { return device.backend() == "cpu" || device.info().parent; });
  return devices;
}

// The doctor's reason, in the words "gpu" would have failed with.
std::string why_no_gpu(Runtime& runtime) {
  try {
    return choose_device(runtime, {.device = "gpu"}).reason;
  } catch (const Error& error) {
    return error.what();
  }
}

std::unique_ptr<exact::Searcher> automatic_searcher(Runtime& runtime, Metric distance,
                                                    const std::optional<IndexDevices>& asked) {
  std::vector<Device> devices = asked ? asked->devices : automatic_devices(runtime);
  if (!exact::can_scan(distance, Precision::int8)) {
    return exact::make_host_searcher(runtime.executor(), fmt::format("only the CPU scans {}", name(distance)));
  }
  if (devices.empty()) {
    return exact::make_host_searcher(runtime.executor(), "'auto' fell back to the CPU: " + why_no_gpu(runtime));
  }
  std::erase_if(devices, [](const Device& device) { return device.backend() == "cpu"; });
  return exact::make_planned_searcher(runtime, devices);
}

// A kind that searches on this processor alone refuses to be told of another.
void refuse_devices(std::string_view kind, const std::optional<IndexDevices>& asked) {
  if (!asked || only_cpu(asked->devices)) return;
  throw Error(ErrorCode::unsupported, "make_index",
              fmt::format("'{}' searches on this processor, {}; use 'gpu', 'hnsw' or 'auto', or name no device", kind,
                          asked->reason));
}

std::unique_ptr<exact::Searcher> searcher_for(Runtime& runtime, std::string_view kind, Metric distance,
                                              const IndexOptions& options) {
  const std::optional<IndexDevices> asked = asked_devices(runtime, options);
  if (kind == kind_brute) {
    refuse_devices(kind, asked);
    return exact::make_host_searcher(runtime.executor(), "the index is 'brute'");
  }
  if (asked && only_cpu(asked->devices)) return exact::make_host_searcher(runtime.executor(), asked->reason);
  if (kind == kind_auto) return automatic_searcher(runtime, distance, asked);
  if (!exact::can_scan(distance, Precision::int8)) {
    throw Error(ErrorCode::unsupported, "make_index",
                fmt::format("devices do not scan {}, only l2, cosine and inner_product; use 'brute' or 'auto'",
                            name(distance)));
  }
  if (asked) return exact::make_device_searcher(runtime, asked->devices, split_of(runtime), asked->reason);
  return gpu_searcher(runtime);
}

// What searches of 'auto' ask for unless they name it.
double automatic_recall(const IndexOptions& options) {
  const double recall = options.recall.value_or(default_recall);
  if (recall > 0 && recall <= 1) return recall;
  throw Error(ErrorCode::invalid_input, "make_index",
              fmt::format("a recall of {}, it must be above 0 and at most 1; 0.95 is usual", recall));
}

std::unique_ptr<exact::ExactIndex> exact_index(Runtime& runtime, std::string_view kind,
                                               std::unique_ptr<exact::Corpus> corpus, const IndexOptions& options) {
  auto searcher = searcher_for(runtime, kind, corpus->distance(), options);
  return std::make_unique<exact::ExactIndex>(runtime, kind, std::move(corpus), std::move(searcher));
}

// Alone, or ready for a graph beside it; `graph` may be missing.
std::unique_ptr<Index> with_graph(Runtime& runtime, std::unique_ptr<exact::ExactIndex> exact,
                                  std::unique_ptr<Index> graph, const IndexOptions& options) {
  const double recall = automatic_recall(options);
  if (exact->kind() != kind_auto || recall == 1 || !exact::can_scan(exact->distance(), Precision::int8)) return exact;
  return std::make_unique<AutoIndex>(runtime, std::move(exact), std::move(graph), recall);
}

// What every file of an index begins with.
std::string read_mark(ByteReader& reader) {
  std::string mark(exact::exact_mark.size(), ' ');
  reader.read(std::as_writable_bytes(std::span(mark)));
  return mark;
}

[[noreturn]] void no_memory(std::string_view op) {
  throw Error(ErrorCode::allocation, op,
              "no memory for what is being read; close something, or load it on a larger machine");
}

// On the one device that is asked for, or on this processor.
std::unique_ptr<Index> graph_index(Runtime& runtime, std::unique_ptr<graph::GraphStore> corpus,
                                   const IndexOptions& options) {
  const std::optional<IndexDevices> asked = asked_devices(runtime, options);
  if (!asked || only_cpu(asked->devices)) return std::make_unique<graph::GraphIndex>(runtime, std::move(corpus));
  if (asked->devices.size() > 1) {
    throw Error(ErrorCode::unsupported, "make_index",
                fmt::format("'hnsw' is on one device and no more, {}; name one", asked->reason));
  }
  return std::make_unique<graph::GraphIndex>(runtime, std::move(corpus), asked->devices.front(), asked->reason);
}

std::unique_ptr<Index> loaded_graph(ByteReader& reader, Runtime& runtime, const IndexOptions& options) {
  return graph_index(runtime, graph::load_graph(reader, runtime.executor()), options);
}

// The graph of the same vectors that follows an exact index.
std::unique_ptr<Index> graph_beside(ByteReader& reader, Runtime& runtime, const exact::ExactIndex& exact) {
  if (read_mark(reader) != graph::graph_magic) exact::damaged("there is no graph beside an index that has one");
  auto graph = loaded_graph(reader, runtime, {});
  if (exact.kind() != kind_auto || graph->dim() != exact.dim() || graph->distance() != exact.distance() ||
      graph->size() != exact.size()) {
    exact::damaged("a graph of other vectors than the index");
  }
  return graph;
}

}  // namespace

std::unique_ptr<Index> make_index(std::string_view kind, std::size_t dim, Metric distance, Runtime& runtime,
                                  const IndexOptions& options) {
  kind = known_kind("make_index", kind);
  if (kind == kind_graph) return make_graph_index(dim, distance, {}, runtime, options);
  exact::check_dim("make_index", dim);
  auto corpus = std::make_unique<exact::Corpus>(runtime.executor(), distance, dim, exact::default_precision(distance));
  return with_graph(runtime, exact_index(runtime, kind, std::move(corpus), options), nullptr, options);
}

std::unique_ptr<Index> make_graph_index(std::size_t dim, Metric distance, const GraphOptions& options, Runtime& runtime,
                                        const IndexOptions& place) {
  exact::check_dim("make_index", dim);
  graph::GraphParams params;
  params.degree = options.degree;
  params.pruned_degree = options.degree - options.degree / 6;
  params.ef_construction = options.build_width;
  params.seed = options.seed;
  graph::validate_graph("make_index", distance, params);
  return graph_index(runtime, std::make_unique<graph::GraphStore>(runtime.executor(), distance, dim, params), place);
}

std::unique_ptr<Index> load_index(ByteReader& reader, Runtime& runtime, const IndexOptions& options) {
  runtime.check_fork("load_index");
  try {
    std::string mark = read_mark(reader);
    if (mark == graph::graph_magic) return loaded_graph(reader, runtime, options);
    const bool has_graph = mark == auto_magic;
    if (has_graph) {
      read_auto_header(reader);
      mark = read_mark(reader);
    }
    if (mark != exact::exact_mark) exact::damaged("it does not begin with the mark of an index");
    exact::LoadedExact loaded = exact::load_exact(reader, runtime.executor());
    auto exact = exact_index(runtime, loaded.kind, std::move(loaded.corpus), options);
    auto graph = has_graph ? graph_beside(reader, runtime, *exact) : nullptr;
    return with_graph(runtime, std::move(exact), std::move(graph), options);
  } catch (const std::bad_alloc&) {
    no_memory("load_index");
  }
}

std::unique_ptr<Index> map_index(std::shared_ptr<const MappedFile> file, Runtime& runtime, const MapOptions& options) {
  runtime.check_fork("map_index");
  if (!file) throw Error(ErrorCode::invalid_input, "map_index", "no file was given; use std::make_shared<MappedFile>");
  try {
    MemoryReader reader(file->bytes());
    const std::string mark = read_mark(reader);
    if (mark == exact::exact_mark || mark == auto_magic) {
      throw Error(ErrorCode::unsupported, "map_index",
                  fmt::format("{} is no saved 'hnsw', and only that can be mapped; use load_index", file->path()));
    }
    if (mark != graph::graph_magic) exact::damaged("it does not begin with the mark of an index", "map_index");
    return graph_index(runtime, graph::map_graph(std::move(file), options.verify, runtime.executor()), {});
  } catch (const std::bad_alloc&) {
    no_memory("map_index");
  }
}

}  // namespace vectis::inline v0_1
