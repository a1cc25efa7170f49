#include "vectis/kernel/custom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "base/utf8.hpp"
#include "kernel/codegen/names.hpp"
#include "kernel/launch/compile.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/kernel/cache.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::uint64_t word_bytes = 4;

// What one device compiles.
struct Printed {
  std::string dialect;
  std::string text;
  std::string options;
  std::string file;  // what the compiler calls the user's lines; empty: any name
};

[[noreturn]] void refuse(const Device& device, std::string_view kernel, std::string_view why) {
  throw Error(
      ErrorCode::no_compiler, "compile_kernel",
      fmt::format("kernel '{}': {} ({}) {}. Kernels written as text run on OpenCL, CUDA and HIP devices "
                  "(`vectis devices` lists them); on the CPU and on WebGPU use a named operation with run(), or "
                  "map() for functions of single elements",
                  kernel, device.label(), device.info().name, why));
}

// A device with a compiler of its own takes raw text in it.
std::string why_not_printed(const DeviceInfo& info) {
  if (info.dialects.empty()) return "has no run-time compiler";
  return fmt::format(
      "compiles {} at run time, in which portable kernels are not printed: give its text in that language",
      info.dialects.front());
}

// The portable kernel in the first dialect of the device that it can be printed in.
Printed print_for(const Device& device, const KernelSource& source) {
  const auto dialect = detail::printed_dialect(device.info(), detail::KernelOrigin::users);
  if (!dialect) refuse(device, source.name, why_not_printed(device.info()));
  return {std::string(name(*dialect)), print(source, *dialect), std::string(compiler_options(*dialect)),
          body_file(source)};
}

// Raw text is in the device's first language.
Printed raw_for(const Device& device, const Kernel& kernel) {
  if (device.info().dialects.empty()) refuse(device, kernel.name, "has no run-time compiler");
  return {device.info().dialects.front(), kernel.source, "", ""};
}

// Appends a text behind its length, so that no two sequences of texts have one key.
void put(std::string& key, std::string_view text) { key.append(fmt::format("{}:", text.size())).append(text); }

void put_number(std::string& key, std::uint64_t number) { key.append(fmt::format("{},", number)); }

// Everything that changes the text of a portable kernel.
void put(std::string& key, const KernelSource& source) {
  const auto add = [&](std::string_view name, auto first, std::uint64_t second) {
    put(key, name);
    put_number(key, static_cast<std::uint64_t>(first));
    put_number(key, second);
  };
  put(key, source.functions);
  put(key, source.body);
  put_number(key, source.buffers.size());
  for (const auto& buffer : source.buffers) add(buffer.name, buffer.element, static_cast<std::uint64_t>(buffer.access));
  put_number(key, source.scalars.size());
  for (const auto& scalar : source.scalars) add(scalar.name, scalar.element, 0);
  put_number(key, source.shared.size());
  for (const auto& array : source.shared) add(array.name, array.element, array.count);
  put_number(key, source.defines.size());
  for (const auto& [name, replacement] : source.defines) {
    put(key, name);
    put(key, replacement);
  }
  put_number(key, source.overrides.size());
  for (const auto& [dialect, body] : source.overrides) add(body, dialect, 0);
  for (const std::uint32_t extent : source.group) put_number(key, extent);
}

// Names what a kernel loads among all that a context has loaded. Whole texts and the whole binary, not their hash:
// KernelCache takes kernels with equal keys for the same.
std::string cache_key(const Kernel& kernel) {
  std::string key = kernel.portable != nullptr ? "custom/portable/" : "custom/raw/";
  put(key, kernel.entry_point);
  put(key, kernel.backend);
  if (kernel.portable != nullptr) {
    put(key, *kernel.portable);
  } else {
    put(key, kernel.source);
  }
  const auto* const binary = reinterpret_cast<const char*>(kernel.compiled_binary.data());
  put(key, std::string_view(binary, kernel.compiled_binary.size()));
  return key;
}

bool has_source(const Kernel& kernel) { return kernel.portable != nullptr || !kernel.source.empty(); }

// Compiles in the user's terms.
Program compile(const DeviceContext& context, std::string_view kernel, const Printed& printed) {
  try {
    return kernel_cache(context).program(context, printed.dialect, printed.text, printed.options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::compile_failed) throw;
    throw detail::explain_compile_error(error, kernel, printed.file);
  }
}

Program compile(const DeviceContext& context, const Kernel& kernel) {
  const Device device = context.device();
  return compile(context, kernel.name,
                 kernel.portable != nullptr ? print_for(device, *kernel.portable) : raw_for(device, kernel));
}

// Empty when the kernel has no binary for this device, or its driver refuses it and there is a source to fall back on.
std::optional<Program> from_binary(Runtime& runtime, const DeviceContext& context, const Kernel& kernel) {
  const Device device = context.device();
  if (kernel.compiled_binary.empty()) return std::nullopt;
  if (!kernel.backend.empty() && kernel.backend != device.backend()) return std::nullopt;
  const auto* const text = reinterpret_cast<const char*>(kernel.compiled_binary.data());
  try {
    return kernel_cache(context).program(context, "binary", {text, kernel.compiled_binary.size()});
  } catch (const Error& error) {
    const bool lost = error.code() == ErrorCode::device_lost || error.code() == ErrorCode::forked;
    if (lost || !has_source(kernel)) throw;
    runtime.logger().log(
        LogLevel::info, "kernel",
        fmt::format("kernel '{}' is compiled again, its binary was refused: {}", kernel.name, error.what()));
    return std::nullopt;
  }
}

// Throws InvalidInput if raw source has no kernel function of the kernel's name.
void check_entry_point(const Program& program, const Kernel& kernel) {
  if (kernel.portable != nullptr) return;
  try {
    (void)EntryPoint(program, kernel.entry_point);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
    throw Error(ErrorCode::invalid_input, "make_kernel",
                fmt::format("the source of kernel '{}' has no entry point of that name; pass the name of its kernel "
                            "function ({})",
                            kernel.name, error.what()));
  }
}

std::vector<std::byte> binary_of(const Program& program) {
  try {
    return program.binary();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return {};
  }
}

// Throws InvalidInput for a name or entry point that drivers cannot take.
void check_kernel_names(std::string_view op, const Kernel& kernel) {
  const auto check = [&](std::string_view what, std::string_view text, std::size_t min, std::size_t max) {
    if (text.size() >= min && text.size() <= max && text.find('\0') == std::string_view::npos) return;
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("the {} of kernel '{}' has {} characters{}, the limit is {} to {} without NUL; use a "
                            "shorter C identifier",
                            what, detail::cut_utf8(kernel.name.c_str(), detail::kernel_name_size_max), text.size(),
                            text.find('\0') == std::string_view::npos ? "" : " and a NUL", min, max));
  };
  check("name", kernel.name, 0, detail::kernel_name_size_max);
  check("entry point", kernel.entry_point, 1, detail::kernel_name_size_max + detail::entry_point_prefix.size());
}

// Throws InvalidInput if the shared arrays of a portable kernel exceed the device's shared memory.
void check_shared_arrays(std::string_view op, const Kernel& kernel, const Device& device) {
  if (kernel.portable == nullptr) return;
  std::uint64_t bytes = 0;  // counts have 32 bits: the sum does not wrap
  for (const SharedArray& array : kernel.portable->shared) bytes += word_bytes * array.count;
  const std::uint64_t limit = device.info().limits.shared_bytes_max;
  if (bytes <= limit) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("the shared arrays of kernel '{}' have {} bytes, the limit of {} ({}) is {}; use smaller "
                          "tiles",
                          kernel.name, bytes, device.label(), device.info().name, limit));
}

using Kind = KernelArgument::Kind;

std::string_view describe(Kind kind) noexcept {
  switch (kind) {
    case Kind::memory:
      return "memory";
    case Kind::shared:
      return "shared memory";
    case Kind::real:
      return "a float";
    case Kind::wide_real:
      return "a double";
    case Kind::integer:
      return "an integer";
    case Kind::boolean:
      return "a bool";
  }
  return "something else";
}

[[noreturn]] void throw_invalid_argument(std::string_view kernel, const std::string& message) {
  throw Error(ErrorCode::invalid_input, "launch", fmt::format("kernel '{}': {}", kernel, message));
}

LaunchArgument lower_buffer(const BufferParameter& parameter, std::string_view kernel, const KernelArgument& argument) {
  if (argument.kind() != Kind::memory) {
    throw_invalid_argument(kernel, fmt::format("buffer '{}' was given {}; give it device memory", parameter.name,
                                               describe(argument.kind())));
  }
  if (argument.bytes() % word_bytes != 0) {
    throw_invalid_argument(
        kernel, fmt::format("buffer '{}' ({}) was given {} bytes, which are no whole 32-bit words; round its memory "
                            "up to a multiple of {}",
                            parameter.name, short_name(parameter.element), argument.bytes(), word_bytes));
  }
  return argument.lowered();
}

template <class T>
LaunchArgument lower_integer(const ScalarParameter& parameter, std::string_view kernel,
                             const KernelArgument& argument) {
  if (argument.kind() != Kind::integer) {
    throw_invalid_argument(kernel, fmt::format("scalar '{}' ({}) was given {}; give it an integer", parameter.name,
                                               short_name(parameter.element), describe(argument.kind())));
  }
  if (!std::in_range<T>(argument.integer())) {
    throw_invalid_argument(kernel, fmt::format("scalar '{}' ({}) was given {}, its limits are {} and {}",
                                               parameter.name, short_name(parameter.element), argument.integer(),
                                               std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
  return static_cast<T>(argument.integer());
}

LaunchArgument lower_scalar(const ScalarParameter& parameter, std::string_view kernel, const KernelArgument& argument) {
  if (parameter.element == DType::int32) return lower_integer<std::int32_t>(parameter, kernel, argument);
  if (parameter.element == DType::uint32) return lower_integer<std::uint32_t>(parameter, kernel, argument);
  if (argument.kind() != Kind::real) {
    throw_invalid_argument(kernel, fmt::format("scalar '{}' (f32) was given {}; give it a float, as in 2.0f",
                                               parameter.name, describe(argument.kind())));
  }
  return argument.lowered();
}

// "x, y, count"
std::string names_of(const KernelSource& source) {
  std::string names;
  for (const BufferParameter& buffer : source.buffers) names += (names.empty() ? "" : ", ") + buffer.name;
  for (const ScalarParameter& scalar : source.scalars) names += (names.empty() ? "" : ", ") + scalar.name;
  return names;
}

// The arguments as the device takes them. Throws InvalidInput naming the parameter if one does not fit. Without a
// `source` there is nothing to compare with, and they pass unchanged.
std::vector<LaunchArgument> lower_arguments(const KernelSource* source, std::string_view kernel,
                                            std::span<const KernelArgument> arguments) {
  std::vector<LaunchArgument> lowered;
  lowered.reserve(arguments.size());
  if (source == nullptr) {
    for (const KernelArgument& argument : arguments) lowered.push_back(argument.lowered());
    return lowered;
  }
  const std::size_t buffers = source->buffers.size();
  const std::size_t needed = buffers + source->scalars.size();
  if (arguments.size() != needed) {
    throw_invalid_argument(
        kernel, fmt::format("{} arguments were given, it takes {}: {}", arguments.size(), needed, names_of(*source)));
  }
  for (std::size_t i = 0; i < needed; ++i) {
    lowered.push_back(i < buffers ? lower_buffer(source->buffers[i], kernel, arguments[i])
                                  : lower_scalar(source->scalars[i - buffers], kernel, arguments[i]));
  }
  return lowered;
}

// Whole groups that cover the work-items; empty if there are none. Throws InvalidInput for a group or grid out of
// range.
std::optional<LaunchShape> cover(const WorkItems& items, const std::array<std::uint32_t, 3>& group) {
  LaunchShape shape;
  shape.block = group;
  const std::array<std::uint64_t, 3> counts{items.x, items.y, items.z};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (counts[axis] == 0) return std::nullopt;
    if (group[axis] == 0) {
      throw Error(ErrorCode::invalid_input, "launch",
                  fmt::format("the work-group has 0 work-items in dimension {}; at least 1", axis));
    }
    const std::uint64_t groups = (counts[axis] - 1) / group[axis] + 1;
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    if (groups > limit) {
      throw Error(
          ErrorCode::invalid_input, "launch",
          fmt::format("{} work-items in dimension {} are {} groups of {}, the limit is {}; use larger groups or "
                      "more dimensions",
                      counts[axis], axis, groups, group[axis], limit));
    }
    shape.grid[axis] = static_cast<std::uint32_t>(groups);
  }
  return shape;
}

}  // namespace

struct KernelManager::State {
  explicit State(Runtime& owner) : runtime(owner) {}
  Runtime& runtime;
  std::mutex mutex;
  std::map<int, DeviceContext> contexts;  // to compile on, by device id; guarded by mutex

  DeviceContext context_of(std::string_view backend) {
    const Device device = choose_device(runtime, {.device = std::string(backend)}).device;
    const std::lock_guard lock(mutex);
    const auto found = contexts.find(device.id());
    if (found != contexts.end() && !found->second.lost()) return found->second;
    return contexts.insert_or_assign(device.id(), DeviceContext(device)).first->second;
  }

  Kernel finish(Kernel kernel, std::string_view backend) {
    const DeviceContext context = context_of(backend);
    kernel.backend = context.device().backend();
    check_kernel_names("make_kernel", kernel);
    check_shared_arrays("make_kernel", kernel, context.device());
    const Program program = compile(context, kernel);
    check_entry_point(program, kernel);
    kernel.compiled_binary = binary_of(program);
    return kernel;
  }
};

KernelArgument::KernelArgument(const DeviceMemory& memory)
    : lowered_(memory), kind_(Kind::memory), bytes_(memory.bytes()) {}
KernelArgument::KernelArgument(const ManagedBuffer& buffer) : KernelArgument(buffer.memory()) {}
KernelArgument::KernelArgument(float value) noexcept : lowered_(value), kind_(Kind::real) {}
KernelArgument::KernelArgument(double value) noexcept : lowered_(value), kind_(Kind::wide_real) {}
KernelArgument::KernelArgument(bool value) noexcept : lowered_(value), kind_(Kind::boolean), integer_(value ? 1 : 0) {}

KernelArgument KernelArgument::shared(std::size_t bytes) noexcept {
  return {LaunchArgument::shared(bytes), Kind::shared};
}

KernelManager::KernelManager(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {}
KernelManager::~KernelManager() = default;

std::vector<std::byte> KernelManager::compile_kernel(std::string_view name, std::string_view source,
                                                     std::string_view backend) {
  return make_kernel(name, source, backend).compiled_binary;
}

std::vector<std::byte> KernelManager::compile_kernel(const KernelSource& source, std::string_view backend) {
  return make_kernel(source, backend).compiled_binary;
}

Kernel KernelManager::make_kernel(std::string_view name, std::string_view source, std::string_view backend,
                                  std::array<std::uint32_t, 3> work_group_size) {
  Kernel kernel;
  kernel.name = kernel.entry_point = name;
  kernel.source = source;
  kernel.work_group_size = work_group_size;
  return state_->finish(std::move(kernel), backend);
}

Kernel KernelManager::make_kernel(const KernelSource& source, std::string_view backend) {
  Kernel kernel;
  kernel.name = source.name;
  kernel.source = source.body;
  kernel.entry_point = vectis::entry_point(source);
  kernel.work_group_size = source.group;
  kernel.portable = std::make_shared<const KernelSource>(source);
  return state_->finish(std::move(kernel), backend);
}

LoadedKernel KernelManager::load(const DeviceContext& context, const Kernel& kernel) {
  if (kernel.compiled_binary.empty() && !has_source(kernel)) {
    throw Error(ErrorCode::invalid_input, "load",
                fmt::format("kernel '{}' has neither a binary nor a source; fill in one of them", kernel.name));
  }
  if (kernel.portable != nullptr && kernel.portable->group != kernel.work_group_size) {
    throw Error(
        ErrorCode::invalid_input, "load",
        fmt::format("kernel '{}' was compiled for groups of {}, work_group_size is {}; set `group` of its source "
                    "and make it again",
                    kernel.name, fmt::join(kernel.portable->group, " x "), fmt::join(kernel.work_group_size, " x ")));
  }
  check_kernel_names("load", kernel);
  check_shared_arrays("load", kernel, context.device());
  const auto make = [&] {
    const auto program = from_binary(state_->runtime, context, kernel);
    return EntryPoint(program ? *program : compile(context, kernel), kernel.entry_point);
  };
  return {kernel.name, kernel_cache(context).entry_point(context, cache_key(kernel), make), kernel.work_group_size,
          kernel.portable};
}

void KernelManager::launch(Stream& stream, const LoadedKernel& kernel, const WorkItems& items,
                           std::span<const KernelArgument> arguments) {
  const auto lowered = lower_arguments(kernel.portable.get(), kernel.name, arguments);
  const auto shape = cover(items, kernel.work_group_size);
  if (shape) stream.launch(kernel.entry_point, *shape, lowered);
}

void KernelManager::launch(Stream& stream, const LoadedKernel& kernel, const WorkItems& items,
                           std::initializer_list<KernelArgument> arguments) {
  launch(stream, kernel, items, std::span(arguments.begin(), arguments.size()));
}

void KernelManager::launch(Stream& stream, const Kernel& kernel, const WorkItems& items,
                           std::span<const KernelArgument> arguments) {
  launch(stream, load(stream.context(), kernel), items, arguments);
}

void KernelManager::launch(Stream& stream, const Kernel& kernel, const WorkItems& items,
                           std::initializer_list<KernelArgument> arguments) {
  launch(stream, load(stream.context(), kernel), items, std::span(arguments.begin(), arguments.size()));
}

}  // namespace vectis::inline v0_1
