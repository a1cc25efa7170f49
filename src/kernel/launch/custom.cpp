#include "vectis/kernel/custom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>
#include <optional>

#include "kernel/launch/arguments.hpp"
#include "kernel/launch/compile_error.hpp"
#include "kernel/launch/dialect.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/kernel/cache.hpp"

namespace vectis::inline v0_1 {

namespace {

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
      fmt::format("kernel '{}': {} ({}) {}; choose another device (`vectis devices` lists them), or write it as "
                  "an IR function for map(), which runs on every device",
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

std::uint64_t digest(std::string_view text, std::uint64_t basis) {
  const std::uint64_t bytes = text.size();
  return hash64(std::as_bytes(std::span(text)), hash64(std::as_bytes(std::span(&bytes, 1)), basis));
}

// Everything that changes the text of a portable kernel.
std::uint64_t digest(const KernelSource& source) {
  std::uint64_t value = digest(source.body, digest(source.functions, hash64({})));
  const auto add = [&](std::string_view name, std::uint64_t first, std::uint64_t second) {
    const std::array numbers{first, second};
    value = digest(name, hash64(std::as_bytes(std::span(numbers)), value));
  };
  const auto number = [](auto enumerator) { return static_cast<std::uint64_t>(enumerator); };
  for (const auto& buffer : source.buffers) add(buffer.name, number(buffer.element), number(buffer.access));
  for (const auto& scalar : source.scalars) add(scalar.name, number(scalar.element), 0);
  for (const auto& array : source.shared) add(array.name, number(array.element), array.count);
  for (const auto& [name, replacement] : source.defines) {
    add(name, 0, 0);
    add(replacement, 0, 0);
  }
  for (const auto& [dialect, body] : source.overrides) add(body, number(dialect), 0);
  for (const std::uint32_t extent : source.group) add("group", extent, 0);
  add("counts", source.buffers.size(), source.scalars.size());
  add("counts", source.shared.size(), source.defines.size());
  return value;
}

// Names what a kernel loads among all that a context has loaded.
std::string cache_key(const Kernel& kernel) {
  std::uint64_t value = 0;
  if (kernel.portable != nullptr) {
    value = digest(*kernel.portable);
  } else if (!kernel.source.empty()) {
    value = digest(kernel.source, hash64({}));
  } else {
    value = hash64(kernel.compiled_binary);
  }
  return fmt::format("custom/{}/{}/{:016x}", kernel.portable != nullptr ? "portable" : "raw", kernel.entry_point,
                     value);
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

std::vector<std::byte> binary_of(const Program& program) {
  try {
    return program.binary();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return {};
  }
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
    kernel.compiled_binary = binary_of(compile(context, kernel));
    return kernel;
  }
};

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
  const auto make = [&] {
    const auto program = from_binary(state_->runtime, context, kernel);
    return EntryPoint(program ? *program : compile(context, kernel), kernel.entry_point);
  };
  return {kernel.name, kernel_cache(context).entry_point(context, cache_key(kernel), make), kernel.work_group_size,
          kernel.portable};
}

void KernelManager::launch(Stream& stream, const LoadedKernel& kernel, const WorkItems& items,
                           std::span<const KernelArgument> arguments) {
  const auto lowered = detail::lower_arguments(kernel.portable.get(), kernel.name, arguments);
  const auto shape = detail::cover(items, kernel.work_group_size);
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
