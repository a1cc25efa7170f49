// Fuzzes ir::from_text, and writes every function it accepts.
#include <string>
#include <vector>

#include "kernel/ir/random_program.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "vectis/kernel.hpp"

namespace vectis::fuzz {

namespace {

void use(const ir::Function& function) noexcept {
  const std::string text = ir::to_text(function);
  expect(ir::to_text(ir::from_text(text)) == text);
}

void read_and_use(BytesView file) { use(ir::from_text(text_of(file))); }

std::vector<Bytes> seeds() {
  std::vector<Bytes> files{
      bytes_of("vectis-ir 1\n"
               "function power_sum  # a comment\n"
               "inputs f32 f16\n"
               "tables i8\n"
               "arguments u32\n"
               "%0 = input f32 0\n"
               "%1 = input f32 1\n"
               "%2 = argument u32 0\n"
               "%3 = constant f32 1\n"
               "%4 = loop %2 %3 %0 {\n"
               "  %5 = carried f32 %4 0\n"
               "  %6 = carried f32 %4 1\n"
               "  %7 = mul f32 %5 %0\n"
               "  %8 = iteration u32 %4\n"
               "} %7 %6\n"
               "%9 = result f32 %4 1\n"
               "%10 = gather i32 %2 0\n"
               "%11 = constant f32 0x7fc00001\n"
               "output bf16 %9\n"
               "output i8 %10\n"
               "end\n")};
  Random random(1);
  for (int i = 0; i < 30; ++i)
    files.push_back(bytes_of(ir::to_text(ir::random_program(random, {.special = i % 2 == 0}))));
  return files;
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::invalid_input}};

}  // namespace vectis::fuzz
