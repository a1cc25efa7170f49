#include "kernel/launch/prepared.hpp"

#include <utility>

namespace vectis::inline v0_1::detail {

namespace {

// Push constants, the scarcest room for scalars there is, hold 128 bytes.
constexpr std::size_t scalars_max = 32;

void put(std::string& key, std::uint32_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
void put(std::string& key, std::size_t size) { put(key, static_cast<std::uint32_t>(size)); }

template <class List>
void put_list(std::string& key, const List& list) {
  put(key, list.size());
  for (const auto element : list) put(key, static_cast<std::uint32_t>(element));
}

}  // namespace

std::string function_key(const ir::Function& function) {
  std::string key;
  key.reserve(64 + function.instructions.size() * 24);
  put_list(key, function.name);
  put_list(key, function.inputs);
  put_list(key, function.tables);
  put_list(key, function.arguments);
  put(key, function.outputs.size());
  for (const ir::Output& output : function.outputs) {
    put(key, output.value);
    put(key, static_cast<std::uint32_t>(output.element));
  }
  put(key, function.instructions.size());
  for (const ir::Instruction& one : function.instructions) {
    put(key, static_cast<std::uint32_t>(one.op) << 8U | static_cast<std::uint32_t>(one.type));
    for (const ir::Id operand : one.operands) put(key, operand);
    put(key, one.immediate);
  }
  put(key, function.loops.size());
  for (const ir::Loop& loop : function.loops) {
    put(key, loop.trip_count);
    put_list(key, loop.initial);
    put_list(key, loop.body);
    put_list(key, loop.next);
  }
  put_list(key, function.body);
  return key;
}

PreparedFunction::PreparedFunction(const ir::Function& function) {
  ir::verify(function);
  simplified_ = ir::simplify(function);
  lifted_ = ir::lift_constants(simplified_);
  const std::size_t scalars = 1 + lifted_.function.tables.size() + lifted_.function.arguments.size();
  if (scalars > scalars_max) lifted_ = {simplified_, {}};
  kernel_key_ = "map/" + function_key(lifted_.function);
}

const vm::CompiledFunction& PreparedFunction::compiled() {
  std::call_once(once_, [&] { compiled_ = std::make_unique<const vm::CompiledFunction>(simplified_); });
  return *compiled_;
}

std::shared_ptr<PreparedFunction> PreparedFunctions::get(const ir::Function& function) {
  std::string key = function_key(function);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = functions_.find(key); found != functions_.end()) return found->second;
  }
  auto made = std::make_shared<PreparedFunction>(function);
  const std::lock_guard lock(mutex_);
  if (functions_.size() >= kept_max) functions_.clear();
  return functions_.try_emplace(std::move(key), std::move(made)).first->second;
}

}  // namespace vectis::inline v0_1::detail
