// The typed functions of vectis::ops call the operation of their name with operands and parameters in the right order.
#include "vectis/kernel/ops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <vector>

#include "tests/operations/fixture.hpp"

namespace vectis::test {
namespace {

using Views = std::span<const View>;
using Wrapper = std::function<void(Stream&, Views)>;

struct Wrapped {
  Wrapper call;
  std::vector<ParameterValue> parameters;  // what run() is given for the same result
};

template <class Function>
Wrapper two(Function function) {
  return [function](Stream& stream, Views v) { function(stream, v[0], v[1]); };
}
template <class Function>
Wrapper three(Function function) {
  return [function](Stream& stream, Views v) { function(stream, v[0], v[1], v[2]); };
}

const std::map<std::string, Wrapped>& wrappers() {
  static const std::map<std::string, Wrapped> all = {
      {"fill", {[](Stream& s, Views v) { ops::fill(s, v[0], 2.5); }, {2.5}}},
      {"copy", {two(ops::copy), {}}},
      {"cast", {two(ops::cast), {}}},
      {"transpose", {two(ops::transpose), {}}},
      {"gather", {three(ops::gather), {}}},
      {"scatter", {three(ops::scatter), {}}},
      {"sum", {two(ops::sum), {}}},
      {"sum_rows", {two(ops::sum_rows), {}}},
      {"mean", {two(ops::mean), {}}},
      {"mean_rows", {two(ops::mean_rows), {}}},
      {"max", {two(ops::max), {}}},
      {"max_rows", {two(ops::max_rows), {}}},
      {"min", {two(ops::min), {}}},
      {"min_rows", {two(ops::min_rows), {}}},
      {"norm", {two(ops::norm), {}}},
      {"norm_rows", {two(ops::norm_rows), {}}},
      {"argmax", {two(ops::argmax), {}}},
      {"argmax_rows", {two(ops::argmax_rows), {}}},
      {"prefix_sum", {[](Stream& s, Views v) { ops::prefix_sum(s, v[0], v[1], ops::Scan::exclusive); }, {1}}},
      {"top_k", {[](Stream& s, Views v) { ops::top_k(s, v[0], v[1], v[2], ops::Order::smallest); }, {0}}},
      {"matmul",
       {[](Stream& s, Views v) { ops::matmul(s, v[0], v[1], v[2], {.alpha = 2, .beta = 0.5}); }, {0, 0, 2.0, 0.5}}},
      {"l2_squared", {three(ops::l2_squared), {}}},
      {"dot_product", {three(ops::dot_product), {}}},
      {"cosine_distance", {three(ops::cosine_distance), {}}},
      {"scan_bounds",
       {[](Stream& s, Views v) {
          ops::scan_bounds(s, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], {.first_row = 3});
        },
        {3}}},
      {"tighten_bounds",
       {[](Stream& s, Views v) { ops::tighten_bounds(s, v[0], v[1], v[2], v[3], v[4], v[5], 2); }, {2}}},
      {"graph_search",
       {[](Stream& s, Views v) {
          ops::graph_search(s, v[0], v[1], v[2], v[3], v[4], v[5], v[6], {.k = 2, .epsilon = 1.5});
        },
        {2, 1.5}}},
      {"graph_prune", {[](Stream& s, Views v) { ops::graph_prune(s, v[0], v[1], v[2], v[3], v[4], 1.25); }, {1.25}}},
  };
  return all;
}

TEST(TypedOperations, ThereIsOneForEveryOperation) {
  std::vector<std::string> named;
  for (const Operation& operation : operations()) named.push_back(operation.name);
  std::vector<std::string> wrapped;
  for (const auto& [name, wrapper] : wrappers()) wrapped.push_back(name);
  EXPECT_EQ(wrapped, named);
}

class TypedOperationsTest : public OperationsTest {
 protected:
  // Operands of the operation's first sample: small integers, the same ones each time.
  std::vector<HostMatrix> operands(const Operation& operation) {
    Random same(7);
    std::vector<HostMatrix> made;
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      const auto& shape = operation.samples.front()[i];
      HostMatrix& matrix = made.emplace_back(operation.operands[i].types.front(), Layout{shape[0], shape[1]});
      for (std::uint64_t row = 0; row < shape[0]; ++row) {
        for (std::uint64_t column = 0; column < shape[1]; ++column) {
          matrix.set(row, column, static_cast<double>(same.below(3)));
        }
      }
    }
    return made;
  }
  template <class Call>
  std::vector<std::vector<std::byte>> result(const Operation& operation, const Call& call) {
    std::vector<HostMatrix> matrices = operands(operation);
    std::vector<View> views;
    for (const HostMatrix& matrix : matrices) views.push_back(matrix.view(upload(matrix)));
    Stream stream(context("cpu"));
    call(stream, Views(views));
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      stream.copy_to_host(matrices[i].bytes(), views[i].memory, 0);
      stream.synchronize();
      bytes.emplace_back(matrices[i].bytes().begin(), matrices[i].bytes().end());
    }
    return bytes;
  }
};

TEST_F(TypedOperationsTest, DoWhatRunDoes) {
  (void)context("cpu");
  for (const Operation& operation : operations()) {
    SCOPED_TRACE(operation.name);
    const Wrapped& wrapped = wrappers().at(operation.name);
    const auto by_name =
        result(operation, [&](Stream& stream, Views views) { run(stream, operation.name, views, wrapped.parameters); });
    EXPECT_EQ(result(operation, wrapped.call), by_name);
  }
}

}  // namespace
}  // namespace vectis::test
