// What NVRTC and hipRTC share: programs, compiled from text to an image. Codes are NVRTC's, which hipRTC shares.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vectis::test_driver {

inline constexpr int compiler_invalid_input = 3;
inline constexpr int compiler_invalid_program = 4;
inline constexpr int compiler_invalid_option = 5;
inline constexpr int compiler_failed = 6;

struct Program {
  std::string text;
  std::string log;
  std::string image;
  bool machine_code = false;
};

const void* create_program(const char* text, int headers);
void destroy_program(const void* handle);
// Fails for a handle without a program.
Program& program(const void* handle);

// Compiles it into an image of this form. Options that begin with one of `known` are accepted, "-D" is passed on, and
// every other one fails with a message like a compiler's.
void compile_program(Program& one, const std::vector<std::string>& options, const std::vector<std::string>& known,
                     const std::vector<std::string>& definitions, const std::string& form, int architecture);

// The text with its end.
void give_text(const std::string& text, char* target);

const char* compiler_code_text(int code);

}  // namespace vectis::test_driver
