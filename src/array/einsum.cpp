// Sums of products by Einstein's convention, made of permutations, products of matrices and sums.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "array/operands.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

[[noreturn]] void throw_einsum(std::string_view equation, const std::string& why) {
  throw_invalid("einsum", fmt::format("'{}': {}", equation, why));
}

// An array and a letter for each axis.
struct Term {
  Tensor tensor;
  std::string labels;
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void check_labels(std::string_view equation, std::string_view labels) {
  const auto wrong = std::ranges::find_if_not(labels, is_label);
  if (wrong != labels.end()) {
    throw_einsum(equation, fmt::format("'{}' is no label; use letters, commas and one '->'", *wrong));
  }
}

Equation parse(std::string_view text) {
  std::string compact;
  std::ranges::copy_if(text, std::back_inserter(compact), [](char c) { return c != ' '; });
  const std::size_t arrow = compact.find("->");
  Equation equation;
  std::string inputs = compact.substr(0, arrow);
  for (std::size_t begin = 0; begin <= inputs.size();) {
    const std::size_t comma = std::min(inputs.find(',', begin), inputs.size());
    equation.inputs.push_back(inputs.substr(begin, comma - begin));
    check_labels(text, equation.inputs.back());
    begin = comma + 1;
  }
  if (arrow != std::string::npos) {
    equation.output = compact.substr(arrow + 2);
    check_labels(text, equation.output);
    return equation;
  }
  // Without an arrow: the labels that occur once, in alphabetical order.
  std::map<char, int> counts;
  for (const std::string& input : equation.inputs) {
    for (const char label : input) ++counts[label];
  }
  for (const auto& [label, count] : counts) {
    if (count == 1) equation.output.push_back(label);
  }
  return equation;
}

// Moves two axes of equal extent to the end and keeps their diagonal as one axis.
Tensor diagonal_of(const Tensor& x, std::size_t a, std::size_t b) {
  const std::int64_t extent = x.shape()[a];
  const Tensor moved = moveaxis(moveaxis(x, static_cast<std::int64_t>(b), -1), static_cast<std::int64_t>(a), -2);
  Shape flat(std::span(moved.shape().begin(), moved.rank() - 2));
  flat.push_back(extent * extent);
  return slice(moved.reshape(flat), -1, {.step = extent + 1});
}

// A label that occurs twice in one term selects the diagonal.
void join_repeated(std::string_view equation, Term& term) {
  for (std::size_t a = 0; a < term.labels.size(); ++a) {
    const std::size_t b = term.labels.find(term.labels[a], a + 1);
    if (b == std::string::npos) continue;
    if (term.tensor.shape()[a] != term.tensor.shape()[b]) {
      throw_einsum(equation, fmt::format("label '{}' has extents {} and {}", term.labels[a], term.tensor.shape()[a],
                                         term.tensor.shape()[b]));
    }
    const char label = term.labels[a];
    term.tensor = diagonal_of(term.tensor, a, b);
    term.labels.erase(b, 1);
    term.labels.erase(a, 1);
    term.labels.push_back(label);
    a = static_cast<std::size_t>(-1);
  }
}

// Sums over the axes whose labels are not in `needed`.
void sum_unneeded(Term& term, std::string_view needed) {
  Shape axes;
  std::string kept;
  for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
    if (needed.find(term.labels[axis]) == std::string_view::npos) {
      axes.push_back(static_cast<std::int64_t>(axis));
    } else {
      kept.push_back(term.labels[axis]);
    }
  }
  if (!axes.empty()) term.tensor = sum(term.tensor, axes);
  term.labels = kept;
}

Tensor in_order(const Term& term, std::string_view labels) {
  Shape axes;
  for (const char label : labels) axes.push_back(static_cast<std::int64_t>(term.labels.find(label)));
  return axes.empty() ? term.tensor : permute_dims(term.tensor, axes);
}

// The product of two terms: labels of both that are needed are batches, those that are not are contracted.
Term multiplied(const Term& a, const Term& b, std::string_view needed, const std::map<char, std::int64_t>& extents) {
  std::string batch;
  std::string contracted;
  std::string only_a;
  std::string only_b;
  for (const char label : a.labels) {
    const bool in_b = b.labels.find(label) != std::string::npos;
    const bool is_needed = needed.find(label) != std::string_view::npos;
    (in_b ? (is_needed ? batch : contracted) : only_a).push_back(label);
  }
  for (const char label : b.labels) {
    if (a.labels.find(label) == std::string::npos) only_b.push_back(label);
  }
  const auto shape_of = [&](std::string_view labels) {
    Shape shape;
    for (const char label : labels) shape.push_back(extents.at(label));
    return shape;
  };
  const auto matrix = [&](const Term& term, const std::string& rows, const std::string& columns) {
    Shape shape = shape_of(batch);
    shape.push_back(shape_of(rows).elements());
    shape.push_back(shape_of(columns).elements());
    return in_order(term, batch + rows + columns).reshape(shape);
  };
  Term result{matmul(matrix(a, only_a, contracted), matrix(b, contracted, only_b)), batch + only_a + only_b};
  result.tensor = result.tensor.reshape(shape_of(result.labels));
  return result;
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> tensors) {
  const Equation parsed = parse(equation);
  if (parsed.inputs.size() != tensors.size()) {
    throw_einsum(equation, fmt::format("{} operands are named and {} given; give one for each", parsed.inputs.size(),
                                       tensors.size()));
  }
  std::map<char, std::int64_t> extents;
  std::vector<Term> terms;
  DType type = DType::boolean;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = as_tensor("einsum", tensors[i]);
    check_devices("einsum", tensors[0], tensor);
    type = promote(type, tensor.dtype());
    if (parsed.inputs[i].size() != tensor.rank()) {
      throw_einsum(equation, fmt::format("'{}' has {} labels, operand {} has shape {}", parsed.inputs[i],
                                         parsed.inputs[i].size(), i, to_string(tensor.shape())));
    }
    for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
      const auto [known, is_new] = extents.emplace(parsed.inputs[i][axis], tensor.shape()[axis]);
      if (!is_new && known->second != tensor.shape()[axis]) {
        throw_einsum(equation, fmt::format("label '{}' has extents {} and {}", known->first, known->second,
                                           tensor.shape()[axis]));
      }
    }
    terms.push_back({tensor, parsed.inputs[i]});
    join_repeated(equation, terms.back());
  }
  for (std::size_t i = 0; i < parsed.output.size(); ++i) {
    const char label = parsed.output[i];
    if (!extents.contains(label))
      throw_einsum(equation, fmt::format("label '{}' of the result is in no operand", label));
    if (parsed.output.find(label, i + 1) != std::string::npos) {
      throw_einsum(equation, fmt::format("label '{}' is twice in the result", label));
    }
  }
  if (!is_real(type) && type != DType::int64) type = DType::int32;  // as sums of small integers
  for (Term& term : terms) term.tensor = term.tensor.astype(type);
  Term result = terms.front();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::string needed = parsed.output;
    for (std::size_t later = i + 1; later < terms.size(); ++later) needed += terms[later].labels;
    if (i > 0) {
      Term next = terms[i];
      sum_unneeded(next, needed + result.labels);
      result = multiplied(result, next, needed, extents);
    }
    sum_unneeded(result, needed);
  }
  return in_order(result, parsed.output);
}

}  // namespace vectis::inline v0_1::array
