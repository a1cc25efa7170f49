// vectis.kernel: custom kernels and named operations on arrays.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "calls.hpp"
#include "device_arrays.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "html.hpp"
#include "launch.hpp"
#include "numbers.hpp"
#include "operations.hpp"
#include "runtime.hpp"
#include "text.hpp"
#include "vectis/kernel/custom.hpp"
#include "vectis/kernel/source.hpp"
namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

using GroupSize = std::array<std::uint32_t, 3>;
using Extents = std::variant<std::uint64_t, std::vector<std::uint64_t>>;  // an int, or one for each dimension

// vectis.kernel.Kernel: a kernel loaded on one device.
struct PyKernel {
  PyDevice device;
  Kernel kernel;
  LoadedKernel loaded;
};

// Returns the extents in three dimensions, 1 in those that are left out.
std::array<std::uint64_t, 3> three_extents(const Extents& extents, std::string_view what) {
  if (const auto* one = std::get_if<std::uint64_t>(&extents)) return {*one, 1, 1};
  const auto& several = std::get<std::vector<std::uint64_t>>(extents);
  if (several.empty() || several.size() > 3) {
    throw_invalid_input("kernel", fmt::format("{} has {} dimensions; devices have 1 to 3", what, several.size()));
  }
  std::array<std::uint64_t, 3> all{1, 1, 1};
  std::copy(several.begin(), several.end(), all.begin());
  return all;
}

GroupSize group_size(const Extents& extents) {
  GroupSize size{};
  const auto all = three_extents(extents, "work_group_size");
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] > std::numeric_limits<std::uint32_t>::max())
      throw_invalid_input("kernel", "work_group_size is too large");
    size[i] = static_cast<std::uint32_t>(all[i]);
  }
  return size;
}

Access parse_access(std::string_view text) {
  if (text == "read") return Access::read;
  if (text == "write") return Access::write;
  if (text == "read_write") return Access::read_write;
  throw_invalid_input("kernel", fmt::format("there is no access '{}'; write 'read', 'write' or 'read_write'", text));
}

std::string_view access_name(Access access) {
  constexpr std::array<std::string_view, 3> names = {"read", "write", "read_write"};
  return names.at(static_cast<std::size_t>(access));
}

template <class T>
T parse_as(nb::handle value, std::string_view wanted) {
  T parsed{};
  if (!nb::try_cast(value, parsed)) {
    throw_invalid_input("kernel", fmt::format("expected {}, not {}", wanted, text_of(nb::repr(value))));
  }
  return parsed;
}

DType parse_buffer_type(std::string_view text) {
  const DType type = parse_element(text, "kernel");
  if (is_kernel_type(type)) return type;
  throw_invalid_input("kernel", fmt::format("a buffer cannot have elements of {}; use float32, int32, uint32, float16, "
                                            "bfloat16 or int8",
                                            text));
}

DType parse_word_type(std::string_view text) {
  const DType type = parse_element(text, "kernel");
  if (type == DType::float32 || type == DType::int32 || type == DType::uint32) return type;
  throw_invalid_input("kernel", fmt::format("scalars and shared arrays are float32, int32 or uint32, not {}", text));
}

// {"x": "float32:read"} or [("x", "float32", "read")].
std::vector<BufferParameter> parse_buffers(nb::handle buffers) {
  constexpr std::string_view wanted = "buffers as {'name': 'TYPE:ACCESS'} or tuples (name, type, access)";
  std::vector<BufferParameter> parsed;
  if (nb::isinstance<nb::dict>(buffers)) {
    for (const auto [key, value] : nb::borrow<nb::dict>(buffers)) {
      const auto text = parse_as<std::string>(value, wanted);
      const std::size_t colon = text.find(':');
      parsed.push_back({parse_as<std::string>(key, wanted), parse_buffer_type(text.substr(0, colon)),
                        colon == std::string::npos ? Access::read : parse_access(text.substr(colon + 1))});
    }
    return parsed;
  }
  for (const nb::handle entry : buffers) {
    const auto [name, type, access] = parse_as<std::tuple<std::string, std::string, std::string>>(entry, wanted);
    parsed.push_back({name, parse_buffer_type(type), parse_access(access)});
  }
  return parsed;
}

// {"count": "uint32"}
std::vector<ScalarParameter> parse_scalars(const std::optional<nb::dict>& scalars) {
  constexpr std::string_view wanted = "scalars as {'name': 'TYPE'}";
  std::vector<ScalarParameter> parsed;
  if (!scalars) return parsed;
  for (const auto [key, value] : *scalars) {
    parsed.push_back({parse_as<std::string>(key, wanted), parse_word_type(parse_as<std::string>(value, wanted))});
  }
  return parsed;
}

// {"sums": ("float32", 64)}
std::vector<SharedArray> parse_shared(const std::optional<nb::dict>& shared) {
  constexpr std::string_view wanted = "shared arrays as {'name': ('TYPE', elements)}";
  std::vector<SharedArray> parsed;
  if (!shared) return parsed;
  for (const auto [key, value] : *shared) {
    const auto [type, count] = parse_as<std::pair<std::string, std::uint32_t>>(value, wanted);
    parsed.push_back({parse_as<std::string>(key, wanted), parse_word_type(type), count});
  }
  return parsed;
}

// {"WIDTH": 8}
std::vector<std::pair<std::string, std::string>> parse_defines(const std::optional<nb::dict>& defines) {
  std::vector<std::pair<std::string, std::string>> parsed;
  if (!defines) return parsed;
  for (const auto [key, value] : *defines) {
    constexpr std::string_view wanted = "defines as {'NAME': value}, of text without surrogates";
    parsed.emplace_back(parse_as<std::string>(key, wanted), parse_as<std::string>(nb::str(value), wanted));
  }
  return parsed;
}

// Compiles a kernel with `make` and loads it in the context of the device's memory pool.
template <class Function>
PyKernel compile(const PyDevice& device, const Function& make) {
  const Call call;
  return call.run([&](const Context&) {
    auto& manager = device.runtime->service<KernelManager>();
    Kernel made = make(manager, device.device.label());
    LoadedKernel loaded = manager.load(pool_context(device), made);
    return PyKernel{device, std::move(made), std::move(loaded)};
  });
}

void make_portable(PyKernel* self, std::string name, std::string body, nb::handle buffers,
                   const std::optional<nb::dict>& scalars, const std::optional<nb::dict>& shared, std::string functions,
                   const std::optional<nb::dict>& defines, const Extents& work_group_size,
                   const std::optional<DeviceArgument>& device) {
  check_no_nul(name, "kernel", "the name");
  KernelSource source{.name = std::move(name),
                      .buffers = parse_buffers(buffers),
                      .scalars = parse_scalars(scalars),
                      .shared = parse_shared(shared),
                      .group = group_size(work_group_size),
                      .defines = parse_defines(defines),
                      .functions = std::move(functions),
                      .body = std::move(body)};
  new (self) PyKernel(compile(find_device(device), [&](KernelManager& manager, const std::string& label) {
    return manager.make_kernel(source, label);
  }));
}

PyKernel make_raw(const std::string& name, const std::string& text, const Extents& work_group_size,
                  const std::optional<DeviceArgument>& device) {
  const GroupSize group = group_size(work_group_size);
  check_no_nul(name, "kernel", "the name");
  check_no_nul(text, "kernel", "the text");
  return compile(find_device(device), [&](KernelManager& manager, const std::string& label) {
    return manager.make_kernel(name, text, label, group);
  });
}

// Returns a scalar argument of a raw kernel, in the type of a NumPy scalar; of Python, an int is an int32 and a float a
// float32.
KernelArgument raw_scalar(nb::handle value, std::string_view name) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyFloat_CheckExact(value.ptr())) return static_cast<float>(nb::cast<double>(value));
  const std::string what = fmt::format("argument '{}'", name);
  const std::string type = nb::hasattr(value, "dtype") ? dtype_name(value) : "int32";
  if (type == "float32") return static_cast<float>(real_value(value, "launch", what));
  if (type == "float64") return real_value(value, "launch", what);
  if (type == "bool") return nb::cast<bool>(nb::bool_(value));
  if (type == "uint64") return parse_as<std::uint64_t>(nb::int_(value), "an integer of 64 bits");
  const std::int64_t integer = integer_value(value, "launch", what);
  if (type == "int64") return integer;
  if (type == "uint32") return static_cast<std::uint32_t>(integer);
  if (type != "int32" || !std::in_range<std::int32_t>(integer)) {
    throw_invalid_input("launch",
                        fmt::format("argument '{}' must fit into 32 bits; pass a NumPy scalar of its type, such as "
                                    "np.int64(...)",
                                    name));
  }
  return static_cast<std::int32_t>(integer);
}

KernelArgument portable_scalar(nb::handle value, const ScalarParameter& parameter) {
  const std::string what = fmt::format("argument '{}'", parameter.name);
  if (parameter.element == DType::float32) return static_cast<float>(real_value(value, "launch", what));
  return integer_value(value, "launch", what);
}

// The arguments of one launch: arrays, and between them scalars.
struct LaunchArguments {
  std::vector<ArrayArgument> arrays;
  std::vector<std::string> names;                      // of the arrays, for messages
  std::vector<std::optional<KernelArgument>> scalars;  // nothing where the next array stands

  [[nodiscard]] std::vector<KernelArgument> lowered() const {
    std::vector<KernelArgument> all;
    all.reserve(scalars.size());
    auto array = arrays.begin();
    for (const auto& scalar : scalars) all.push_back(scalar ? *scalar : KernelArgument((array++)->memory()));
    return all;
  }
};

LaunchArguments portable_arguments(const KernelSource& source, const nb::args& arguments) {
  const std::size_t wanted = source.buffers.size() + source.scalars.size();
  if (arguments.size() != wanted) {
    std::vector<std::string_view> names;
    names.reserve(wanted);
    for (const BufferParameter& buffer : source.buffers) names.push_back(buffer.name);
    for (const ScalarParameter& scalar : source.scalars) names.push_back(scalar.name);
    throw_invalid_input("launch", fmt::format("kernel '{}' takes {} arguments ({}), not {}", source.name, wanted,
                                              fmt::join(names, ", "), arguments.size()));
  }
  LaunchArguments parsed;
  for (std::size_t i = 0; i < source.buffers.size(); ++i) {
    const BufferParameter& buffer = source.buffers[i];
    const std::string what = fmt::format("argument '{}'", buffer.name);
    const ArrayArgument& array = parsed.arrays.emplace_back(
        arguments[i], buffer.access == Access::read ? ArrayUse::read : ArrayUse::write, "launch", what);
    if (array.type() != buffer.element) {
      throw_invalid_input("launch", fmt::format("{} must be an array of {}, not of {}", what, name(buffer.element),
                                                name(array.type())));
    }
    parsed.names.push_back(what);
    parsed.scalars.emplace_back();
  }
  for (std::size_t i = 0; i < source.scalars.size(); ++i) {
    parsed.scalars.emplace_back(portable_scalar(arguments[source.buffers.size() + i], source.scalars[i]));
  }
  return parsed;
}

LaunchArguments raw_arguments(const nb::args& arguments) {
  LaunchArguments parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const nb::object argument = arguments[i];
    const std::string what = fmt::format("argument {}", i);
    if (is_launch_array(argument)) {
      parsed.arrays.emplace_back(argument, ArrayUse::any, "launch", what);
      parsed.names.push_back(what);
      parsed.scalars.emplace_back();
    } else {
      parsed.scalars.emplace_back(raw_scalar(argument, fmt::to_string(i)));
    }
  }
  return parsed;
}

void launch(const PyKernel& self, const Extents& items, const nb::args& arguments) {
  const auto extents = three_extents(items, "items");
  LaunchArguments parsed =
      self.loaded.portable ? portable_arguments(*self.loaded.portable, arguments) : raw_arguments(arguments);
  resolve_overlaps(parsed.arrays, Repeated::share, "launch", [&](std::size_t i) { return parsed.names[i]; });
  const Call call;
  call.run([&](const Context& context) {
    launch_on(self.device, parsed.arrays, context, [&](Stream& stream) {
      self.device.runtime->service<KernelManager>().launch(stream, self.loaded, {extents[0], extents[1], extents[2]},
                                                           parsed.lowered());
    });
  });
}

// Returns the text that the device's compiler gets.
std::string kernel_text(const PyKernel& self) {
  if (!self.kernel.portable) return self.kernel.source;
  for (const std::string& text : self.device.device.info().dialects) {
    const auto dialect = parse_dialect(text);
    if (dialect && *dialect != Dialect::wgsl) return print(*self.kernel.portable, *dialect);
  }
  return self.kernel.source;
}

std::vector<std::string> kernel_parameters(const PyKernel& self) {
  std::vector<std::string> texts;
  if (!self.kernel.portable) return texts;
  for (const BufferParameter& buffer : self.kernel.portable->buffers) {
    texts.push_back(fmt::format("{}: {}:{}", buffer.name, name(buffer.element), access_name(buffer.access)));
  }
  for (const ScalarParameter& scalar : self.kernel.portable->scalars) {
    texts.push_back(fmt::format("{}: {}", scalar.name, name(scalar.element)));
  }
  return texts;
}

constexpr const char* kernel_doc =
    "A kernel of your own, compiled for one device.\n\n"
    "    square = vectis.kernel.Kernel(\n"
    "        'square', 'uint i = GLOBAL_ID(0); if (i < count) { STORE_y(i, LOAD_x(i) * LOAD_x(i)); }',\n"
    "        buffers={'x': 'float32:read', 'y': 'float32:write'}, scalars={'count': 'uint32'}, device='opencl')\n"
    "    square.launch(x.size, x, y, x.size)\n\n"
    "docs/kernels.md describes the language of the body. Devices of OpenCL, CUDA and HIP compile kernels; on the CPU\n"
    "making one raises NoCompilerError.";

constexpr const char* make_doc =
    "Compile a portable kernel.\n\n"
    "buffers: name and 'TYPE:ACCESS' of each, or tuples (name, type, access). Types are 'float32', 'int32', 'uint32',\n"
    "    'float16', 'bfloat16' and 'int8'; access is 'read', 'write' or 'read_write'.\n"
    "scalars: name and type ('float32', 'int32' or 'uint32') of each.\n"
    "shared: name, type and number of elements of arrays that the work-items of a group share.\n"
    "functions: helper functions; defines: macros.\n"
    "device: None is the active one.\n\n"
    "Raises CompileFailedError with line and column, InvalidInputError for what the language does not have.";

constexpr const char* launch_doc =
    "Run the kernel over this many work-items, and wait for it.\n\n"
    "Arguments are the buffers in order, then the scalars. A NumPy array is copied to the device and, if the kernel\n"
    "writes it, back: it must be contiguous and writable, and have the type of the parameter. A DeviceArray is used\n"
    "where it is. Kernels from source do not say what they write: every writable array is copied back, an int is an\n"
    "int32 and a float a float32; pass NumPy scalars for other types.\n\n"
    "An array that is passed for several parameters that the kernel writes is one memory on the device. Arrays that\n"
    "overlap otherwise and are both written are rejected; one that is only read has its values before the launch.\n\n"
    "A launch rounds the work-items up to whole groups, so a kernel compares its id with a count. Arrays do not\n"
    "change when a launch fails.";

}  // namespace

void bind_kernel(nb::module_& module) {
  bind_device_arrays(module);
  bind_operations(module);
  nb::class_<PyKernel>(module, "Kernel", kernel_doc)
      .def("__init__", &make_portable, "name"_a, "body"_a, nb::kw_only(), "buffers"_a, "scalars"_a = nb::none(),
           "shared"_a = nb::none(), "functions"_a = "", "defines"_a = nb::none(), "work_group_size"_a = 64,
           "device"_a = nb::none(),
           nb::sig("def __init__(self, name: str, body: str, *, buffers: collections.abc.Mapping[str, str] | "
                   "collections.abc.Iterable[tuple[str, str, str]], scalars: dict[str, str] | None = None, shared: "
                   "dict[str, tuple[str, int]] | None = None, functions: str = '', defines: dict[str, typing.Any] | "
                   "None = None, work_group_size: int | collections.abc.Sequence[int] = 64, device: Device | int | "
                   "str | None = None) -> None"),
           make_doc)
      .def_static("from_source", &make_raw, "name"_a, "text"_a, nb::kw_only(), "work_group_size"_a = 64,
                  "device"_a = nb::none(),
                  nb::sig("def from_source(name: str, text: str, *, work_group_size: int | "
                          "collections.abc.Sequence[int] = 64, device: Device | int | str | None = None) -> Kernel"),
                  "Compile the kernel function `name` of text in the language of the device: OpenCL C, CUDA C++, HIP "
                  "C++, WGSL.\n\nThe arguments of its launches are not checked.")
      .def("launch", &launch, "items"_a, "arguments"_a,
           nb::sig("def launch(self, items: int | collections.abc.Sequence[int], *arguments: "
                   "numpy.typing.NDArray[typing.Any] | DeviceArray | float | numpy.generic) -> None"),
           launch_doc)
      .def_prop_ro("name", [](const PyKernel& self) { return self.kernel.name; })
      .def_prop_ro("device", [](const PyKernel& self) { return self.device; })
      .def_prop_ro(
          "source", [](const PyKernel& self) { return self.kernel.source; },
          "What was compiled: the body, or the text.")
      .def_prop_ro("text", &kernel_text, "The text that the compiler of the device got.")
      .def_prop_ro(
          "binary",
          [](const PyKernel& self) {
            return nb::bytes(self.kernel.compiled_binary.data(), self.kernel.compiled_binary.size());
          },
          "The compiled kernel; empty when the backend provides none.")
      .def_prop_ro(
          "work_group_size",
          [](const PyKernel& self) {
            const GroupSize& size = self.kernel.work_group_size;
            return nb::make_tuple(size[0], size[1], size[2]);
          },
          nb::sig("def work_group_size(self) -> tuple[int, int, int]"))
      .def("__repr__",
           [](const PyKernel& self) {
             return fmt::format("Kernel('{}', parameters=[{}], device='{}')", self.kernel.name,
                                fmt::join(kernel_parameters(self), ", "), self.device.device.label());
           })
      .def("_repr_html_", [](const PyKernel& self) {
        return html_table({}, {{"kernel", self.kernel.name},
                               {"device", self.device.device.label()},
                               {"parameters", fmt::format("{}", fmt::join(kernel_parameters(self), ", "))}}) +
               fmt::format("<pre>{}</pre>", escape_html(self.kernel.source));
      });
}

}  // namespace vectis::python
