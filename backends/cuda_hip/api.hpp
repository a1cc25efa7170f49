// The functions of the driver and of its run-time compiler, found at run time.
#pragma once

#include <string>

#include "backends/plugin/host.hpp"
#include "driver.hpp"

namespace vectis::cuda_hip {

using plugin::Host;

// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses): the names are the driver's
struct Api {
#define VECTIS_DRIVER_MEMBER(member, function, symbol) decltype(&::function) member = nullptr;
  VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_MEMBER)
  VECTIS_DRIVER_OPTIONAL_FUNCTIONS(VECTIS_DRIVER_MEMBER)
#undef VECTIS_DRIVER_MEMBER
};

struct CompilerApi {
#define VECTIS_COMPILER_MEMBER(member, type, symbol) \
  using member##Function = type;                     \
  member##Function member = nullptr;
  VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_MEMBER)
#undef VECTIS_COMPILER_MEMBER
};
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// The symbol of a member, for messages: VECTIS_CALL(api, MemAlloc) is checked under the name the user can look up.
#define VECTIS_DRIVER_SYMBOL(member, function, symbol) inline constexpr const char* symbol_of_##member = symbol;
VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_SYMBOL)
#undef VECTIS_DRIVER_SYMBOL
#define VECTIS_COMPILER_SYMBOL(member, type, symbol) inline constexpr const char* compiler_symbol_of_##member = symbol;
VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_SYMBOL)
#undef VECTIS_COMPILER_SYMBOL

// Opens the driver's library: the one the setting `driver` names, or the first there is. Throws Failure with the reason
// NO_LIBRARY when there is none and DRIVER_TOO_OLD when it lacks a function.
Api load_api(const Host& host);

// Opens a compiler's library. Empty: it is whole. Otherwise why it cannot be used.
std::string load_compiler(const Host& host, const char* library_name, CompilerApi& compiler);

}  // namespace vectis::cuda_hip
