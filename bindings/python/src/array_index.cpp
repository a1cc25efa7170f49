// x[key] and x[key] = value, with the rules of NumPy.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "array_object.hpp"
#include "errors.hpp"
#include "numbers.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// An array of positions of one axis.
struct AxisIndices {
  std::size_t axis;
  Tensor indices;
};

// What is left to do after slices and new axes.
struct ParsedKey {
  Tensor sliced;
  std::vector<AxisIndices> arrays;
  bool separated = false;  // the arrays do not stand side by side in the key
};

bool is_boolean(nb::handle item) {
  return PyBool_Check(item.ptr()) || (is_array(item) && tensor_of(item).dtype() == DType::boolean);
}
bool is_index_array(nb::handle item) { return is_array(item) && tensor_of(item).dtype() != DType::boolean; }

// The items of a key, in which arrays of NumPy and lists have become Arrays.
std::vector<nb::object> items_of(nb::handle key) {
  const nb::object all = PyTuple_Check(key.ptr()) ? nb::borrow(key) : nb::object(nb::make_tuple(key));
  std::vector<nb::object> items;
  for (const nb::handle item : all) {
    const bool is_plain = item.is_none() || item.ptr() == Py_Ellipsis || PySlice_Check(item.ptr()) || is_array(item) ||
                          PyLong_Check(item.ptr());
    if (is_plain) {
      items.push_back(nb::borrow(item));
    } else if (PyList_Check(item.ptr()) && nb::len(item) == 0) {
      items.push_back(to_array(Tensor::from_cpu(std::vector<std::int64_t>(), {0}, tensor_options(std::nullopt))));
    } else if (PyList_Check(item.ptr()) || nb::hasattr(item, "__array__")) {
      items.push_back(to_array(as_tensor(item, std::nullopt, tensor_options(std::nullopt))));
    } else if (PyIndex_Check(item.ptr()) != 0) {
      items.push_back(nb::steal(PyNumber_Index(item.ptr())));
      if (!items.back().is_valid()) throw nb::python_error();
    } else {
      throw nb::type_error(
          fmt::format("an array is indexed by integers, slices, None, ... and arrays, not {}", class_name(item))
              .c_str());
    }
  }
  return items;
}

// The axes that an item consumes.
std::size_t consumed_axes(nb::handle item) {
  if (item.is_none() || item.ptr() == Py_Ellipsis || PyBool_Check(item.ptr())) return 0;
  return is_boolean(item) ? tensor_of(item).rank() : 1;
}

array::Range range_of(nb::handle slice) {
  const auto number = [&](const char* part) -> std::optional<std::int64_t> {
    const nb::object value = slice.attr(part);
    if (value.is_none()) return std::nullopt;
    const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    int overflow = 0;
    const std::int64_t integer = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    constexpr std::int64_t far = std::int64_t{1} << 62;  // beyond every axis
    if (overflow != 0) return overflow > 0 ? far : -far;
    return std::clamp(integer, -far, far);
  };
  return {.start = number("start"), .stop = number("stop"), .step = number("step").value_or(1)};
}

class KeyParser {
 public:
  KeyParser(const Tensor& x, nb::handle key) : items_(items_of(key)) {
    parsed_.sliced = x;
    std::size_t consumed = 0;
    std::size_t ellipses = 0;
    for (const nb::object& item : items_) {
      consumed += consumed_axes(item);
      ellipses += std::size_t{item.ptr() == Py_Ellipsis};
      // Beside arrays an integer is an array of one index.
      has_arrays_ |= is_array(item) || PyBool_Check(item.ptr());
    }
    if (consumed > x.rank() || ellipses > 1) {
      throw_invalid_input("index", ellipses > 1
                                       ? "the key has more than one ...; use one"
                                       : fmt::format("{} indices for shape {}, which has {} axes; give as many at most",
                                                     consumed, to_string(x.shape()), x.rank()));
    }
    skipped_ = x.rank() - consumed;
  }

  ParsedKey parse() {
    for (const nb::object& item : items_) take(item);
    return std::move(parsed_);
  }

 private:
  void take(nb::handle item) {
    Tensor& x = parsed_.sliced;
    if (item.is_none()) {
      x = array::expand_dims(x, static_cast<std::int64_t>(axis_++));
      interrupted_ = !parsed_.arrays.empty();
    } else if (item.ptr() == Py_Ellipsis) {
      axis_ += skipped_;
      interrupted_ = !parsed_.arrays.empty();
    } else if (PySlice_Check(item.ptr())) {
      x = array::slice(x, static_cast<std::int64_t>(axis_++), range_of(item));
      interrupted_ = !parsed_.arrays.empty();
    } else if (is_boolean(item)) {
      take_mask(item);
    } else if (is_index_array(item)) {
      add(tensor_of(item));
    } else {
      take_integer(integer_value(item, "index", "an index"));
    }
  }

  void take_integer(std::int64_t index) {
    if (!has_arrays_) {
      parsed_.sliced = array::select(parsed_.sliced, static_cast<std::int64_t>(axis_), index);
      return;
    }
    const std::int64_t extent = parsed_.sliced.shape()[axis_];
    if (index < -extent || index >= extent)
      (void)array::select(parsed_.sliced, static_cast<std::int64_t>(axis_), index);
    add(array::full({}, index, array::position_type(parsed_.sliced), options()));
  }

  // A mask stands for the positions of its true elements; one without axes for a new axis of one element or none.
  void take_mask(nb::handle item) {
    const Tensor mask =
        PyBool_Check(item.ptr()) ? array::full({}, item.ptr() == Py_True, DType::boolean, options()) : tensor_of(item);
    Tensor& x = parsed_.sliced;
    if (mask.rank() == 0) {
      x = array::expand_dims(x, static_cast<std::int64_t>(axis_));
      add(array::zeros({mask.item<bool>() ? 1 : 0}, array::position_type(x), options()));
      return;
    }
    for (std::size_t i = 0; i < mask.rank(); ++i) {
      if (mask.shape()[i] != x.shape()[axis_ + i] && mask.shape()[i] != 0) {
        throw_invalid_input("index",
                            fmt::format("a mask of shape {} does not fit shape {} from axis {} on; give one of "
                                        "equal extents",
                                        to_string(mask.shape()), to_string(x.shape()), axis_));
      }
    }
    for (const Tensor& positions : without_gil([&] { return array::nonzero(mask); })) add(positions);
  }

  void add(const Tensor& indices) {
    if (interrupted_) parsed_.separated = true;
    parsed_.arrays.push_back({axis_++, array::indices_beside(parsed_.sliced, indices)});
  }

  [[nodiscard]] TensorOptions options() const {
    return {.device = parsed_.sliced.device(), .runtime = &array::runtime_of(parsed_.sliced)};
  }

  std::vector<nb::object> items_;
  ParsedKey parsed_;
  std::size_t axis_ = 0;
  std::size_t skipped_ = 0;  // axes that ... stands for
  bool has_arrays_ = false;
  bool interrupted_ = false;
};

// The numbers 0, 1, ... on the device of `beside`.
Tensor counted(std::int64_t count, const Tensor& beside) {
  return array::arange(0, static_cast<double>(count), 1, array::position_type(beside),
                       {.device = beside.device(), .runtime = &array::runtime_of(beside)});
}

// One index of the merged axes for each element of the index arrays. Indices are checked when they are computed.
Tensor linear_indices(const Tensor& x, const std::vector<AxisIndices>& arrays) {
  Tensor linear;
  std::int64_t stride = 1;
  for (std::size_t i = arrays.size(); i-- > 0;) {
    const std::int64_t extent = x.shape()[arrays[i].axis];
    const Tensor checked = array::take(counted(extent, x), arrays[i].indices);
    const Tensor part = array::multiply(checked, stride);
    linear = linear.is_empty() ? part : array::add(part, linear);
    stride *= extent;
  }
  return linear;
}

Tensor take_arrays(const ParsedKey& key) {
  const Tensor& x = key.sliced;
  const std::vector<AxisIndices>& arrays = key.arrays;
  if (arrays.size() == 1) return array::take(x, arrays[0].indices, static_cast<std::int64_t>(arrays[0].axis));
  // The indexed axes are moved together, to the front unless the arrays stand side by side.
  const std::size_t place = key.separated ? 0 : arrays[0].axis;
  Shape order;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::find(arrays, axis, &AxisIndices::axis) == arrays.end())
      order.push_back(static_cast<std::int64_t>(axis));
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) order.insert(place + i, static_cast<std::int64_t>(arrays[i].axis));
  const Tensor moved = array::permute_dims(x, order);
  Shape merged;
  std::int64_t together = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (axis >= place && axis < place + arrays.size()) {
      together *= moved.shape()[axis];
      if (axis + 1 == place + arrays.size()) merged.push_back(together);
    } else {
      merged.push_back(moved.shape()[axis]);
    }
  }
  return array::take(moved.reshape(merged), linear_indices(x, arrays), static_cast<std::int64_t>(place));
}

// `value` with as many axes as the place it is written to, at most: leading extents of 1 are dropped.
Tensor fitted(const Tensor& value, std::size_t rank) {
  Shape shape = value.shape();
  while (shape.rank() > rank && shape[0] == 1) shape.erase(0);
  return value.reshape(shape);
}

// Replaces the elements that integers and slices choose: each axis states, for each of its positions, the position of
// the value that is written there, -1 for none.
class SliceWriter {
 public:
  SliceWriter(const Tensor& x, const std::vector<nb::object>& items) : x_(x) {
    std::size_t axis = 0;
    for (const nb::object& item : items) {
      if (item.ptr() == Py_Ellipsis) {
        for (std::size_t left = x.rank() + 1 - items.size(); left > 0; --left) keep(axis++);
      } else if (PySlice_Check(item.ptr())) {
        choose(axis++, range_of(item));
      } else {
        const std::int64_t index = integer_value(item, "index", "an index");
        (void)array::select(x, static_cast<std::int64_t>(axis), index);  // throws when there is no such index
        const std::int64_t position = index < 0 ? index + x.shape()[axis] : index;
        choose(axis++, {.start = position, .stop = position + 1});
        chosen_.erase(chosen_.rank() - 1);
      }
    }
    while (axis < x.rank()) keep(axis++);
  }

  // Whether a key has only integers, slices and an ellipsis.
  static bool takes(const Tensor& x, const std::vector<nb::object>& items) {
    std::size_t ellipses = 0;
    for (const nb::object& item : items) {
      if (item.is_none() || is_array(item) || PyBool_Check(item.ptr())) return false;
      ellipses += std::size_t{item.ptr() == Py_Ellipsis};
    }
    return ellipses <= 1 && items.size() - ellipses <= x.rank();
  }

  [[nodiscard]] Tensor write(const Tensor& value) const {
    const Tensor fitting = array::broadcast_to(fitted(value, chosen_.rank()), chosen_);
    if (sources_.empty()) return fitting.reshape(x_.shape());
    if (fitting.elements() == 0) return x_;
    Tensor placed = value.elements() == 1 ? value.reshape({}) : fitting.reshape(with_all_axes_);
    Tensor mask;
    for (const auto& [axis, source] : sources_) {
      if (value.elements() != 1) {
        placed = array::take(placed, array::maximum(source, 0), static_cast<std::int64_t>(axis));
      }
      Shape along(x_.rank(), 1);
      along[axis] = x_.shape()[axis];
      const Tensor is_chosen = array::greater_equal(source, 0).reshape(along);
      mask = mask.is_empty() ? is_chosen : array::logical_and(mask, is_chosen);
    }
    return array::where(array::broadcast_to(mask, x_.shape()), placed, x_);
  }

 private:
  void keep(std::size_t axis) {
    chosen_.push_back(x_.shape()[axis]);
    with_all_axes_.push_back(x_.shape()[axis]);
  }

  void choose(std::size_t axis, const array::Range& range) {
    const std::int64_t extent = x_.shape()[axis];
    const Tensor positions = array::slice(counted(extent, x_), 0, range);
    chosen_.push_back(positions.elements());
    with_all_axes_.push_back(positions.elements());
    if (positions.elements() == extent && range.step == 1) return;
    const Tensor none = array::subtract(array::multiply(counted(extent, x_), 0), 1);
    sources_.push_back({axis, array::put_along_axis(none, positions, counted(positions.elements(), x_), 0)});
  }

  const Tensor& x_;
  Shape chosen_;                      // of what is written
  Shape with_all_axes_;               // the same with an extent of 1 for each integer
  std::vector<AxisIndices> sources_;  // of the axes of which not all is written
};

}  // namespace

Tensor get_item(const Tensor& x, nb::handle key) {
  ParsedKey parsed = KeyParser(x, key).parse();
  return parsed.arrays.empty() ? parsed.sliced : take_arrays(parsed);
}

Tensor set_item(const Tensor& x, nb::handle key, nb::handle value) {
  const Tensor put = as_elements(value, x);
  const std::vector<nb::object> items = items_of(key);
  if (SliceWriter::takes(x, items)) return SliceWriter(x, items).write(put);
  if (is_array(key) && put.rank() == 0 && tensor_of(key).dtype() == DType::boolean &&
      tensor_of(key).shape() == x.shape()) {
    const Tensor mask = tensor_of(key);
    return array::where(mask, put, x);
  }
  const Tensor positions = get_item(counted(x.elements(), x).reshape(x.shape()), key);
  const Tensor values = array::broadcast_to(fitted(put, positions.rank()), positions.shape());
  return array::put_along_axis(array::flatten(x), array::flatten(positions), array::flatten(values), 0)
      .reshape(x.shape());
}

}  // namespace vectis::python
