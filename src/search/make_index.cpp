#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checksummed_stream.hpp"
#include "base/load_file.hpp"
#include "device/ranking.hpp"
#include "search/auto_index.hpp"
#include "search/common/checks.hpp"
#include "search/device_set.hpp"
#include "search/exact/exact_format.hpp"
#include "search/exact/exact_index.hpp"
#include "search/exact/search_task.hpp"
#include "search/graph/format.hpp"
#include "search/graph/graph_index.hpp"
#include "search/searchers.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view kind_flat = "flat";
constexpr std::string_view kind_gpu = "gpu";
constexpr std::string_view kind_auto = "auto";
constexpr std::string_view kind_graph = graph::kind_graph;

// The kind's own name, a static string, for a kind or an alias.
std::string_view canonical_kind(std::string_view op, std::string_view kind) {
  if (kind == "brute") return kind_flat;
  if (kind == "hnsw") return kind_graph;
  for (const std::string_view known : {kind_flat, kind_gpu, kind_auto, kind_graph}) {
    if (kind == known) return known;
  }
  throw Error(
      ErrorCode::invalid_input, op,
      fmt::format("unknown index kind '{}'; use 'flat' (or 'brute'), 'graph' (or 'hnsw'), 'gpu' or 'auto'", kind));
}

Runtime& runtime_of(Runtime* runtime) { return runtime == nullptr ? Runtime::get_default() : *runtime; }

void reject_graph_options(std::string_view op, std::string_view why, const IndexOptions& options) {
  if (!options.graph) return;
  throw Error(ErrorCode::invalid_input, op, fmt::format("graph options were given, but {}; leave them out", why));
}

exact::DeviceSplit split_of(const Runtime& runtime) {
  const Setting setting = runtime.settings().get("gpu.split");
  if (setting.value == "shards") return exact::DeviceSplit::shards;
  if (setting.value == "replicas") return exact::DeviceSplit::replicas;
  throw Error(ErrorCode::invalid_input, "make_index",
              fmt::format("gpu.split is '{}' by {}; it may be 'shards' or 'replicas'", setting.value, setting.source));
}

// The device of "gpu" when none was named: the first GPU that works.
IndexDevices first_gpu(Runtime& runtime) {
  IndexDevices found{{}, {}, false};
  std::vector<Device> gpus = detail::candidate_devices(runtime, {.device = "gpu"});  // throws why without one
  std::erase_if(gpus, [](const Device& device) { return device.info().parent.has_value(); });
  for (; gpus.size() > 1; gpus.erase(gpus.begin())) {
    const detail::UsableDevices first = detail::usable_devices(runtime, {gpus.front()}, false);
    if (!first.devices.empty()) break;
    found.reason += "; " + first.failures;
  }
  found.devices = {gpus.front()};  // the caller opens it: the error of the last one is the caller's
  found.reason = fmt::format("{} is the first usable GPU", gpus.front().label()) + found.reason;
  return found;
}

IndexDevices gpu_devices(Runtime& runtime) {
  const Setting named = runtime.settings().get("gpu.devices");
  if (!named.value.empty()) {
    return {detail::named_devices(runtime, named.value), fmt::format("gpu.devices names them, by {}", named.source),
            false};
  }
  const std::optional<Device> active = thread_device(runtime);
  if (active && active->backend() != "cpu") {
    return {{*active}, "it was the active device when the index was made", false};
  }
  const std::optional<IndexDevices> set = detail::device_of_setting(runtime);
  return set && !set->host ? *set : first_gpu(runtime);
}

exact::SearchPlace gpu_place(Runtime& runtime, const IndexDevices& devices) {
  for (const Device& device : devices.devices) detail::check_usable(runtime, device, false);
  return {exact::make_device_searcher(runtime, devices.devices, split_of(runtime), devices.reason), {}};
}

// Whole devices that may be used without being named; not the CPU, which is always a candidate. A card is listed once
// for each backend that sees it.
std::vector<Device> automatic_devices(Runtime& runtime) {
  std::vector<Device> devices = detail::candidate_devices(runtime);
  std::erase_if(devices, [](const Device& device) { return device.backend() == "cpu" || device.info().parent; });
  return devices;
}

exact::SearchPlace host_place(std::string reason) { return {nullptr, std::move(reason)}; }

// Why no GPU is used: short, since every search result repeats it.
std::string why_no_gpu(Runtime& runtime) {
  try {
    return choose_device(runtime, {.device = "gpu"}).reason;
  } catch (const Error&) {
    return "no usable GPU (`vectis doctor` says why)";
  }
}

// The host, and beside it the devices that the call named, or else every device that works.
exact::SearchPlace automatic_place(Runtime& runtime, Metric metric, const std::optional<IndexDevices>& asked) {
  constexpr std::string_view reason = "the planner chooses the host or a device for each search";
  if (!exact::can_scan(metric, Precision::int8)) {
    if (asked) {
      runtime.logger().log(LogLevel::warning, "search",
                           fmt::format("an 'auto' index is searched on the host: {}, but devices do not scan {}",
                                       asked->reason, name(metric)));
    }
    return host_place(fmt::format("devices do not scan {}", name(metric)));
  }
  if (asked) {
    std::vector<Device> devices = asked->devices;
    std::erase_if(devices, [](const Device& device) { return device.backend() == "cpu"; });
    for (const Device& device : devices) detail::check_usable(runtime, device, true);
    return {exact::make_planned_searcher(runtime, devices, fmt::format("{}; {}", asked->reason, reason)), {}};
  }
  const std::vector<Device> found = automatic_devices(runtime);
  if (found.empty()) return host_place(why_no_gpu(runtime));
  const detail::UsableDevices usable = detail::usable_devices(runtime, found, true);
  if (usable.devices.empty()) return host_place(usable.failures);
  return {exact::make_planned_searcher(
              runtime, usable.devices,
              usable.failures.empty() ? std::string(reason) : fmt::format("{}; {}", reason, usable.failures)),
          {}};
}

// Throws Unsupported when devices other than the CPU are named for a kind that uses none.
void reject_devices(std::string_view kind, const std::optional<IndexDevices>& asked) {
  if (!asked || detail::only_cpu(*asked)) return;
  throw Error(ErrorCode::unsupported, "make_index",
              fmt::format("'{}' searches on the host, but {}; use 'gpu', 'graph' or 'auto', or name no device", kind,
                          asked->reason));
}

// Throws Unsupported for a metric that devices do not scan.
void reject_host_metrics(Metric metric) {
  if (exact::can_scan(metric, Precision::int8)) return;
  throw Error(ErrorCode::unsupported, "make_index",
              fmt::format("devices do not scan {}, only l2, l2_squared, cosine and inner_product; use 'flat' or 'auto'",
                          name(metric)));
}

exact::SearchPlace place_for(Runtime& runtime, std::string_view kind, Metric metric, const IndexOptions& options) {
  if (kind == kind_gpu) reject_host_metrics(metric);  // also on the host: a file of the index may be loaded elsewhere
  const std::optional<IndexDevices> asked = detail::asked_devices(runtime, options);
  if (kind == kind_flat) {
    reject_devices(kind, asked);
    return host_place("the index is 'flat'");
  }
  if (asked && detail::only_cpu(*asked)) return host_place(asked->reason);
  if (kind == kind_gpu) return gpu_place(runtime, asked ? *asked : gpu_devices(runtime));
  const std::optional<IndexDevices> set = asked ? std::nullopt : detail::device_of_setting(runtime);
  if (!set) return automatic_place(runtime, metric, asked);
  if (set->host) return host_place(set->reason);
  reject_host_metrics(metric);
  return gpu_place(runtime, *set);
}

std::unique_ptr<exact::ExactIndex> exact_index(Runtime& runtime, std::string_view kind,
                                               std::unique_ptr<exact::SegmentStore> corpus,
                                               const IndexOptions& options) {
  exact::SearchPlace place = place_for(runtime, kind, corpus->metric(), options);
  return std::make_unique<exact::ExactIndex>(runtime, kind, std::move(corpus), std::move(place));
}

// The exact index itself, or an AutoIndex of it; `graph` may be null.
std::unique_ptr<Index> with_graph(Runtime& runtime, std::unique_ptr<exact::ExactIndex> exact,
                                  std::unique_ptr<graph::GraphIndex> graph, const IndexOptions& options) {
  const double recall = options.recall.value_or(default_recall);
  if (exact->kind() != kind_auto || recall == 1 || !exact::can_scan(exact->metric(), Precision::int8)) return exact;
  if (const IndexDevices devices = exact->devices(); !devices.host) {  // and this graph would be searched on the host
    if (graph) {
      runtime.logger().log(LogLevel::warning, "search",
                           fmt::format("the graph of an 'auto' index is not used: {}", devices.reason));
    }
    return exact;
  }
  return std::make_unique<AutoIndex>(runtime, std::move(exact), std::move(graph), recall,
                                     options.graph.value_or(GraphOptions{}));
}

// The first bytes of every file of an index.
std::string read_magic(ByteReader& reader) {
  std::string magic(exact::exact_magic.size(), ' ');
  reader.read(std::as_writable_bytes(std::span(magic)));
  return magic;
}

[[noreturn]] void throw_no_index(std::string_view op, std::string_view magic) {
  if (magic.starts_with("\x93NUMPY")) {
    throw Error(ErrorCode::corrupt_data, op,
                "this is a NumPy array (.npy), not a saved index; read the array and add() its rows to an index");
  }
  throw Error(ErrorCode::corrupt_data, op,
              "the first 8 bytes are not those of a saved index; pass a file that Index::save wrote");
}

[[noreturn]] void no_memory(std::string_view op) {
  throw Error(ErrorCode::allocation, op, "not enough memory for the index; free some, or load it on a larger machine");
}

// On the one device that the options or the setting `device` name, or on the host.
std::unique_ptr<graph::GraphIndex> graph_index(Runtime& runtime, std::unique_ptr<graph::GraphStore> corpus,
                                               const IndexOptions& options) {
  std::optional<IndexDevices> asked = detail::asked_devices(runtime, options);
  if (!asked) asked = detail::device_of_setting(runtime);
  const double recall = options.recall.value_or(default_recall);
  if (!asked || detail::only_cpu(*asked)) {
    return std::make_unique<graph::GraphIndex>(runtime, std::move(corpus), std::nullopt, "", recall);
  }
  if (asked->devices.size() > 1) {
    throw Error(ErrorCode::unsupported, "make_index",
                fmt::format("'graph' searches on one device, but {} were named: {}; name one", asked->devices.size(),
                            asked->reason));
  }
  detail::check_usable(runtime, asked->devices.front(), false);
  return std::make_unique<graph::GraphIndex>(runtime, std::move(corpus), asked->devices.front(), asked->reason, recall);
}

std::unique_ptr<Index> loaded_graph(ByteReader& reader, Runtime& runtime, const IndexOptions& options,
                                    const Context& context) {
  reject_graph_options("load_index", "the file has the graph's parameters", options);
  return graph_index(runtime, graph::load_graph(reader, runtime.executor(), context), options);
}

// Reads the graph of the same vectors, which follows an exact index in a file of 'auto'. Sets options.graph, unless
// the caller did, to the parameters of that graph: later graphs are built alike.
std::unique_ptr<graph::GraphIndex> graph_beside(ByteReader& reader, Runtime& runtime, const exact::ExactIndex& exact,
                                                IndexOptions& options, const Context& context) {
  if (read_magic(reader) != graph::graph_magic) detail::throw_corrupt("the graph of the index is missing");
  auto store = graph::load_graph(reader, runtime.executor(), context);
  const graph::GraphParams& params = store->params();
  if (!options.graph) {
    options.graph = {.degree = params.degree, .ef_construction = params.ef_construction, .seed = params.seed};
  }
  auto graph = graph_index(runtime, std::move(store), {.device = "cpu"});
  if (exact.kind() != kind_auto || graph->dim() != exact.dim() || graph->metric() != exact.metric() ||
      graph->size() != exact.size()) {
    detail::throw_corrupt("the graph has other vectors than the index");
  }
  const auto snapshot = exact.snapshot();
  for (const exact::SegmentView& view : snapshot->views) {
    for (std::size_t row = 0; row < view.rows; ++row) {
      if (!graph->get(view.ids[row])) {
        detail::throw_corrupt(fmt::format("the graph has no vector of id {}, which the index has", view.ids[row]));
      }
    }
  }
  return graph;
}

std::unique_ptr<Index> mapped_index(Runtime& runtime, const std::shared_ptr<const MappedFile>& file,
                                    const MapOptions& options) {
  MemoryReader reader(file->bytes());
  const std::string magic = read_magic(reader);
  if (magic == exact::exact_magic || magic == auto_magic) {
    throw Error(ErrorCode::unsupported, "map_index",
                "this file was not saved by a 'graph' index, and only those can be mapped; use load_index");
  }
  if (magic != graph::graph_magic) throw_no_index("map_index", magic);
  return graph_index(runtime, graph::map_graph(file, options.verify, runtime.executor()), {.recall = options.recall});
}

std::unique_ptr<Index> logged(const Runtime& runtime, std::unique_ptr<Index> index) {
  detail::log_devices(runtime, *index);
  return index;
}

}  // namespace

std::unique_ptr<graph::GraphIndex> make_graph_index(std::size_t dim, Metric metric, const IndexOptions& options) {
  Runtime& runtime = runtime_of(options.runtime);
  const GraphOptions graph = options.graph.value_or(GraphOptions{});
  graph::GraphParams params;
  params.degree = graph.degree;
  params.pruned_degree = graph.degree - graph.degree / 6;
  params.ef_construction = graph.ef_construction;
  params.seed = graph.seed;
  graph::validate_graph("make_index", metric, params);
  return graph_index(runtime, std::make_unique<graph::GraphStore>(runtime.executor(), metric, dim, params), options);
}

std::unique_ptr<Index> make_index(std::string_view kind, std::size_t dim, Metric metric, const IndexOptions& options) {
  kind = canonical_kind("make_index", kind);
  detail::check_dim("make_index", dim);
  detail::check_metric("make_index", metric);
  detail::check_recall("make_index", options.recall);
  Runtime& runtime = runtime_of(options.runtime);
  if (kind == kind_graph) return logged(runtime, make_graph_index(dim, metric, options));
  if (kind != kind_auto) reject_graph_options("make_index", fmt::format("'{}' has no graph", kind), options);
  auto corpus =
      std::make_unique<exact::SegmentStore>(runtime.executor(), metric, dim, exact::default_precision(metric));
  return logged(runtime, with_graph(runtime, exact_index(runtime, kind, std::move(corpus), options), nullptr, options));
}

std::unique_ptr<Index> load_index(ByteReader& reader, const IndexOptions& options, const Context& context) {
  Runtime& runtime = runtime_of(options.runtime);
  runtime.check_fork("load_index");
  detail::check_recall("load_index", options.recall);
  context.check("load_index", runtime.executor());
  try {
    std::string magic = read_magic(reader);
    if (magic == graph::graph_magic) return logged(runtime, loaded_graph(reader, runtime, options, context));
    const bool has_graph = magic == auto_magic;
    if (has_graph) {
      read_auto_header(reader);
      magic = read_magic(reader);
    }
    if (magic != exact::exact_magic) throw_no_index("load_index", magic);
    exact::LoadedExact loaded = exact::load_exact(reader, runtime.executor(), context);
    if (loaded.kind != kind_auto) {
      reject_graph_options("load_index", fmt::format("'{}' has no graph", loaded.kind), options);
    }
    auto exact = exact_index(runtime, loaded.kind, std::move(loaded.store), options);
    IndexOptions completed = options;
    auto graph = has_graph ? graph_beside(reader, runtime, *exact, completed, context) : nullptr;
    return logged(runtime, with_graph(runtime, std::move(exact), std::move(graph), completed));
  } catch (const std::bad_alloc&) {
    no_memory("load_index");
  }
}

std::unique_ptr<Index> load_index(const std::string& path, const IndexOptions& options, const Context& context) {
  return detail::load_file("load_index", path, [&](ByteReader& reader) {
    auto index = load_index(reader, options, context);
    detail::validate_end(reader);
    return index;
  });
}

std::unique_ptr<Index> map_index(std::shared_ptr<const MappedFile> file, const MapOptions& options) {
  Runtime& runtime = runtime_of(options.runtime);
  runtime.check_fork("map_index");
  detail::check_recall("map_index", options.recall);
  if (!file) throw Error(ErrorCode::invalid_input, "map_index", "the file is null; use std::make_shared<MappedFile>");
  try {
    return logged(runtime, mapped_index(runtime, file, options));
  } catch (const Error& error) {
    detail::rethrow_with_path("map_index", file->path(), error);
    throw;
  } catch (const std::bad_alloc&) {
    no_memory("map_index");
  }
}

std::unique_ptr<Index> map_index(const std::string& path, const MapOptions& options) {
  return map_index(std::make_shared<const MappedFile>(path), options);
}

}  // namespace vectis::inline v0_1
