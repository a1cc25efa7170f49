// The regular expressions that select tests by their names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vectis::inline v0_1::conformance {

// A regular expression of characters, `.`, `[a-z]`, `[^a-z]`, `(`, `|`, `)`, `*`, `+`, `?` and `\` before a literal
// character. Matching takes time in proportion to the lengths of pattern and text, for any pattern: a nondeterministic
// automaton is simulated (Thompson 1968), nothing is tried again. std::regex recurses and backtracks without limit.
// Immutable.
class NamePattern {
 public:
  static constexpr std::size_t size_max = 2000;  // characters of a pattern, which also limit the depth of its groups

  // Throws InvalidInput if `text` is not such an expression or has more than size_max characters.
  explicit NamePattern(std::string_view text);
  // Returns whether the whole of `name` matches.
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  friend class PatternParser;
  // A state of the automaton: consumes a character that `accepts` lists and goes on to `next`, or, if `accepts` is
  // empty, goes on to `next` and `other` without consuming anything.
  struct State {
    std::vector<bool> accepts;  // by unsigned char
    std::size_t next = 0;
    std::size_t other = 0;
  };
  // Adds a state and all that it goes on to without a character to the list `reached`.
  void reach(std::size_t state, std::vector<std::size_t>& reached, std::vector<bool>& seen) const;

  std::vector<State> states_;  // state 0 is the end
  std::size_t start_ = 0;
};

}  // namespace vectis::inline v0_1::conformance
