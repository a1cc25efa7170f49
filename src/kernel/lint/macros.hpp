// The macros of a kernel: what the compiler's preprocessor makes of its tokens.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/lint/lint.hpp"

namespace vectis::inline v0_1::detail {

// Expands the macros of one kernel: those of KernelSource::defines and those that the expanded texts define. One thread
// at a time.
class Macros {
 public:
  // `source` must outlive the object and the tokens it returns.
  explicit Macros(const KernelSource& source);

  // Returns the tokens without directives, with every macro expanded; a token of a replacement has the place of the
  // macro's use. All branches of #if remain. Texts whose macros expand to more than 100,000 tokens keep the rest of
  // them as they are. Malformed text does not throw.
  std::vector<Token> expand(std::span<const Token> tokens);

 private:
  struct Macro {
    bool has_parameters = false;
    std::vector<std::string_view> parameters;
    std::vector<Token> replacement;
  };
  // A macro whose expansion a token is part of: a macro is not expanded in its own replacement.
  struct Expanded {
    std::string_view macro;
    const Expanded* outer = nullptr;
  };
  struct Pending {
    Token token;
    const Expanded* within = nullptr;
  };
  using Arguments = std::vector<std::vector<Pending>>;

  void define(std::string_view head, std::string_view replacement);
  void directive(std::string_view text);
  [[nodiscard]] const Macro* macro_of(const Pending& name) const;
  // Takes the arguments of a macro from the end of `stack`. Returns false, and takes nothing, when there are none.
  static bool take_arguments(std::vector<Pending>& stack, Arguments& arguments);

  std::map<std::string_view, Macro> macros_;
};

}  // namespace vectis::inline v0_1::detail
