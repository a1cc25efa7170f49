#include "vectis/device/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "device/call.hpp"
#include "device/cores.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view binary_dialect = "binary";

void check_dialect(const detail::ContextCore& context, std::string_view dialect) {
  const auto& dialects = context.device->info.dialects;
  if (context.slots().program_create == nullptr || dialects.empty()) {
    throw Error(ErrorCode::no_compiler, "compile",
                fmt::format("{} compiles nothing at run time; use the built-in operations or another device",
                            detail::describe(*context.device)));
  }
  if (dialect == binary_dialect || std::ranges::find(dialects, dialect) != dialects.end()) return;
  throw Error(ErrorCode::unsupported, "compile",
              fmt::format("{} does not compile '{}'; its dialects are: {}", detail::describe(*context.device), dialect,
                          fmt::join(dialects, ", ")));
}

}  // namespace

Program::Program(const DeviceContext& context, std::string_view dialect, std::string_view text,
                 std::string_view options)
    : core_(std::make_shared<detail::ProgramCore>(context.core())) {
  detail::ContextCore& owner = *context.core();
  check_dialect(owner, dialect);
  if (text.empty()) throw Error(ErrorCode::invalid_input, "compile", "the program's text is empty; pass its source");
  const std::string dialect_text(dialect);
  const std::string options_text(options);
  detail::check_usable("compile", owner);
  detail::SlotMessage message;
  const VectisStatus status =
      owner.slots().program_create(owner.handle, dialect_text.c_str(), static_cast<const void*>(text.data()),
                                   text.size(), options_text.c_str(), &core_->handle, message.get());
  if (status == VECTIS_UNSUPPORTED) {
    throw Error(ErrorCode::no_compiler, "compile",
                fmt::format("{}: {}", detail::describe(*owner.device), message.text()));
  }
  if (status != VECTIS_OK) detail::fail("compile", owner, status, message);
  core_->compiler_output = message.text();
}

const std::string& Program::compiler_output() const noexcept { return core_->compiler_output; }

std::vector<std::byte> Program::binary() const {
  constexpr std::string_view op = "program_binary";
  detail::ContextCore& owner = *core_->context;
  const auto slot = owner.slots().program_binary;
  std::size_t bytes = 0;
  if (!detail::call_optional(op, owner, slot, core_->handle, static_cast<void*>(nullptr), &bytes)) {
    throw Error(
        ErrorCode::unsupported, op,
        fmt::format("{} offers no program binaries; cache the source instead", detail::describe(*owner.device)));
  }
  std::vector<std::byte> result(bytes);
  detail::call(op, owner, slot, core_->handle, static_cast<void*>(result.data()), &bytes);
  result.resize(bytes);
  return result;
}

EntryPoint::EntryPoint(const Program& program, std::string_view entry_point)
    : core_(std::make_shared<detail::KernelCore>(program.core(), std::string(entry_point))) {
  detail::ContextCore& owner = *core_->context;
  detail::call("create_kernel", owner, owner.slots().kernel_create, program.core()->handle, core_->entry_point.c_str(),
               &core_->handle);
}

const std::string& EntryPoint::entry_point() const noexcept { return core_->entry_point; }

}  // namespace vectis::inline v0_1
