// Functions a printed kernel calls where a dialect has no native one with the meaning of the IR.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kernel/ir/print_dialect.hpp"

namespace vectis::inline v0_1::ir {

// The helpers called `names`, and those they call, as text of the dialect: each once, callees first.
std::string print_helpers(const std::set<std::string_view>& names, const Words& words);

}  // namespace vectis::inline v0_1::ir
