#include "kernel/conformance/suite/name_pattern.hpp"

#include <fmt/format.h>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

[[noreturn]] void throw_invalid_pattern(std::string_view text, std::string_view why) {
  throw Error(ErrorCode::invalid_input, "conformance",
              fmt::format("'{}' is not a regular expression ({}); use a name, or for example 'sum.*'", text, why));
}

}  // namespace

// Parses by recursive descent and adds the states of the automaton; its depth is limited by the pattern's length.
class PatternParser {
 public:
  PatternParser(NamePattern& pattern, std::string_view text) : states_(pattern.states_), text_(text) {
    states_.emplace_back();
    pattern.start_ = alternatives(0);
    if (at_ != text_.size()) fail("a ) without a (");
  }

 private:
  using State = NamePattern::State;
  static constexpr std::size_t characters = 256;

  // What a part of the text makes: its first state, and the one state that leads out of it, whose `next` is still open.
  struct Part {
    std::size_t first;
    std::size_t last;
  };

  [[noreturn]] void fail(std::string_view why) const { throw_invalid_pattern(text_, why); }
  [[nodiscard]] bool at(char one) const { return at_ < text_.size() && text_[at_] == one; }
  bool take(char one) {
    if (!at(one)) return false;
    ++at_;
    return true;
  }
  char next() {
    if (at_ == text_.size()) fail("it ends too early");
    return text_[at_++];
  }

  std::size_t add(State state) {
    states_.push_back(std::move(state));
    return states_.size() - 1;
  }
  std::size_t add_join() { return add({{}, 0, 0}); }

  // Everything up to a `)` or the end; leads to `target`.
  std::size_t alternatives(std::size_t target) {
    std::size_t first = sequence(target);
    while (take('|')) {
      const std::size_t second = sequence(target);
      first = add({{}, first, second});
    }
    return first;
  }

  std::size_t sequence(std::size_t target) {
    const std::size_t begin = add_join();
    std::size_t last = begin;
    while (at_ < text_.size() && !at('|') && !at(')')) {
      const Part part = repeated();
      link(last, part.first);
      last = part.last;
    }
    link(last, target);
    return begin;
  }

  void link(std::size_t from, std::size_t to) { states_[from].next = states_[from].other = to; }

  Part repeated() {
    const Part part = single();
    if (!at('*') && !at('+') && !at('?')) return part;
    const char count = next();
    (void)take('?');  // not greedy: the same for a match of the whole name
    const std::size_t end = add_join();
    const std::size_t choice = add({{}, part.first, end});
    link(part.last, count == '?' ? end : choice);
    return {count == '+' ? part.first : choice, end};
  }

  Part single() {
    const char one = next();
    if (one == '(') {
      const std::size_t end = add_join();
      const std::size_t first = alternatives(end);
      if (!take(')')) fail("a ( without a )");
      return {first, end};
    }
    if (one == '*' || one == '+' || one == '?') fail(fmt::format("nothing stands before {}", one));
    if (one == '{' || one == '}' || one == '^' || one == '$') fail(fmt::format("{} is not supported", one));
    std::vector<bool> accepts(characters, one == '.');
    if (one == '[') {
      accepts = set();
    } else if (one != '.') {
      accepts[index(one == '\\' ? literal() : one)] = true;
    }
    const std::size_t state = add({std::move(accepts), 0, 0});
    return {state, state};
  }

  // The character after a backslash: no class such as \d and no reference such as \1.
  char literal() {
    const char one = next();
    const bool word = (one >= '0' && one <= '9') || (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z');
    if (word) fail(fmt::format("\\{} is not supported", one));
    return one;
  }

  // One character in brackets.
  char element() { return take('\\') ? literal() : next(); }

  std::vector<bool> set() {
    const bool inverted = take('^');
    std::vector<bool> accepts(characters, inverted);
    if (at(']')) fail("an empty [ ]");
    do {
      const char first = element();
      char last = first;
      if (at('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        last = element();
      }
      if (index(last) < index(first)) fail("a range from high to low");
      for (std::size_t i = index(first); i <= index(last); ++i) accepts[i] = !inverted;
    } while (!take(']'));
    return accepts;
  }

  static std::size_t index(char one) { return static_cast<unsigned char>(one); }

  std::vector<State>& states_;
  std::string_view text_;
  std::size_t at_ = 0;
};

NamePattern::NamePattern(std::string_view text) {
  if (text.size() > size_max) {
    throw_invalid_pattern("...", fmt::format("it has {} characters, the limit is {}", text.size(), size_max));
  }
  const PatternParser parser(*this, text);
}

void NamePattern::reach(std::size_t state, std::vector<std::size_t>& reached, std::vector<bool>& seen) const {
  std::vector<std::size_t> open{state};
  while (!open.empty()) {
    const std::size_t one = open.back();
    open.pop_back();
    if (seen[one]) continue;
    seen[one] = true;
    reached.push_back(one);
    if (one == 0 || !states_[one].accepts.empty()) continue;
    open.push_back(states_[one].next);
    open.push_back(states_[one].other);
  }
}

bool NamePattern::matches(std::string_view name) const {
  std::vector<std::size_t> now;
  std::vector<bool> seen(states_.size());
  reach(start_, now, seen);
  for (const char one : name) {
    std::vector<std::size_t> after;
    seen.assign(states_.size(), false);
    for (const std::size_t state : now) {
      const std::vector<bool>& accepts = states_[state].accepts;
      if (!accepts.empty() && accepts[static_cast<unsigned char>(one)]) reach(states_[state].next, after, seen);
    }
    now = std::move(after);
  }
  return seen[0];
}

}  // namespace vectis::inline v0_1::conformance
