#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "kernel/ir/ops.hpp"
#include "kernel/ir/text.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// docs/formats/ir-text.md. Values and loops are numbered in the order they are written, so equal functions have equal
// texts however their instructions were stored.
class Writer {
 public:
  explicit Writer(const Function& function) : function_(function), number_(function.instructions.size()) {}

  std::string run() {
    line(text_header);
    line(fmt::format("function {}", function_.name));
    list("inputs", function_.inputs);
    list("tables", function_.tables);
    list("arguments", function_.arguments);
    block(function_.body);
    for (const Output& output : function_.outputs)
      line(fmt::format("output {} {}", short_name(output.element), value(output.value)));
    line("end");
    return std::move(text_);
  }

 private:
  void line(std::string_view what) {
    text_.append(2 * depth_, ' ');
    text_ += what;
    text_ += '\n';
  }

  template <class Kinds>
  void list(std::string_view word, const Kinds& kinds) {
    if (kinds.empty()) return;
    std::string all(word);
    for (const auto kind : kinds) all += fmt::format(" {}", short_name(kind));
    line(all);
  }

  [[nodiscard]] std::string value(Id id) const { return fmt::format("%{}", number_[id]); }
  [[nodiscard]] std::string values(const std::vector<Id>& ids) const {
    std::string all;
    for (const Id id : ids) all += ' ' + value(id);
    return all;
  }

  void block(const Block& ids) {
    for (const Id id : ids) {
      number_[id] = next_++;
      const Instruction& one = function_.instructions[id];
      if (one.op == Op::loop) {
        loop(id, function_.loops[one.immediate]);
      } else {
        line(fmt::format("{} = {} {}{}", value(id), name(one.op), short_name(one.type), rest(one)));
      }
    }
  }

  void loop(Id id, const Loop& one) {
    line(fmt::format("{} = loop {}{} {{", value(id), value(one.trips), values(one.initial)));
    ++depth_;
    block(one.body);
    --depth_;
    line(fmt::format("}}{}", values(one.next)));
  }

  [[nodiscard]] std::string rest(const Instruction& one) const {
    if (one.op == Op::constant) return ' ' + constant_text(one.type, one.immediate);
    if (one.op == Op::input || one.op == Op::argument) return fmt::format(" {}", one.immediate);
    std::string all;
    for (std::size_t i = 0; i < operand_count(one.op); ++i) all += ' ' + value(one.operands[i]);
    if (one.op == Op::gather || one.op == Op::result || one.op == Op::carried) all += fmt::format(" {}", one.immediate);
    return all;
  }

  const Function& function_;
  std::vector<std::uint32_t> number_;
  std::uint32_t next_ = 0;
  std::size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string constant_text(DType type, std::uint32_t bits) {
  if (type == DType::boolean) return bits != 0 ? "true" : "false";
  if (type == DType::uint32) return fmt::format("{}", bits);
  if (type == DType::int32) return fmt::format("{}", static_cast<std::int32_t>(bits));
  const auto real = std::bit_cast<float>(bits);
  if (std::isnan(real)) return fmt::format("0x{:08x}", bits);
  return fmt::format("{}", real);  // the shortest that reads back; inf and -inf
}

std::string to_text(const Function& function) {
  verify(function);
  return Writer(function).run();
}

}  // namespace vectis::inline v0_1::ir
