// Prints the statements of a function for one element.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/ir/spelling.hpp"

namespace vectis::inline v0_1::ir {

// Prints the statements of a verified function in one dialect, and adds the helper functions they call to `helpers`.
// Names in kernels: inputs in0, in1, ...; tables table0, ... of size0, ...; outputs out0, ...; arguments p0, ...; the
// element's index i; values v0, v1, ... Keeps references to its arguments. One thread at a time.
class BodyPrinter {
 public:
  BodyPrinter(const Function& function, const Spelling& spelling, std::set<std::string_view>& helpers)
      : function_(function), spelling_(spelling), helpers_(helpers), known_(known_values(function)) {}

  // Returns the statements that compute all values of one element, each line indented by `indent` spaces, and adds
  // the helper functions they call to the set. Requires a function that verify() accepts; does not check it.
  std::string body(std::size_t indent);
  // Returns the expression of an output's element: the value, or for f16, bf16 and i8 its 16 or 8 bits in a uint.
  // Adds the conversion's helper function to the set. Requires an output of the printer's function (not checked).
  std::string stored(const Output& output);

 private:
  [[nodiscard]] const Instruction& at(Id id) const { return function_.instructions[id]; }
  [[nodiscard]] DType type_of(Id id) const { return at(id).type; }
  static std::string value(Id id);
  std::string helper(std::string_view name, std::string_view arguments);

  void block(const Block& block, std::size_t indent, std::string& text);
  void loop(const Instruction& instruction, std::size_t indent, std::string& text);
  std::string expression(const Instruction& inst);
  // Returns for each instruction whether its value is computed from constants alone.
  static std::vector<bool> known_values(const Function& function);
  std::string arithmetic(const Instruction& inst, std::string_view a, std::string_view b);
  std::string integer(const Instruction& inst, std::string_view a, std::string_view b);
  std::string comparison(const Instruction& inst, std::string_view a, std::string_view b);
  std::string bits(const Instruction& inst, std::string_view a, std::string_view b);
  std::string conversion(const Instruction& inst, std::string_view a);
  // Returns the expression, in the printer's dialect, that reads element `index` of `buffer`: it unpacks f16, bf16 and
  // i8 from their words and reads other types whole. Adds a helper function that it calls to the set.
  std::string load(std::string_view buffer, DType element, std::string_view index);

  const Function& function_;
  const Spelling& spelling_;
  std::set<std::string_view>& helpers_;
  std::vector<bool> known_;
};

}  // namespace vectis::inline v0_1::ir
