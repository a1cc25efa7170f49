// Prints the statements of a function for one element.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/ir/spelling.hpp"

namespace vectis::inline v0_1::ir {

// Collects the helper functions that the statements call. Names in kernels: inputs in0, in1, ...; tables table0, ... of
// size0, ...; outputs out0, ...; arguments p0, ...; the element's index i; values v0, v1, ...
class BodyPrinter {
 public:
  BodyPrinter(const Function& function, const Spelling& spelling, std::set<std::string_view>& helpers)
      : function_(function), spelling_(spelling), helpers_(helpers), known_(known_values(function)) {}

  // The statements of the body, each line indented by `indent` spaces.
  std::string body(std::size_t indent);
  // An expression for an output's element: the value, or for packed types its 16 or 8 bits in a uint.
  std::string stored(const Output& output);

 private:
  [[nodiscard]] const Instruction& at(Id id) const { return function_.instructions[id]; }
  [[nodiscard]] DType type_of(Id id) const { return at(id).type; }
  static std::string value(Id id);
  std::string helper(std::string_view name, std::string_view arguments);

  void block(const Block& block, std::size_t indent, std::string& text);
  void loop(const Instruction& instruction, std::size_t indent, std::string& text);
  std::string expression(const Instruction& inst);
  // The values computed from constants alone.
  static std::vector<bool> known_values(const Function& function);
  std::string arithmetic(const Instruction& inst, std::string_view a, std::string_view b);
  std::string integer(const Instruction& inst, std::string_view a, std::string_view b);
  std::string comparison(const Instruction& inst, std::string_view a, std::string_view b);
  std::string bits(const Instruction& inst, std::string_view a, std::string_view b);
  std::string conversion(const Instruction& inst, std::string_view a);
  // Element `index` of a buffer.
  std::string load(std::string_view buffer, DType element, std::string_view index);

  const Function& function_;
  const Spelling& spelling_;
  std::set<std::string_view>& helpers_;
  std::vector<bool> known_;
};

}  // namespace vectis::inline v0_1::ir
