// How each slot is exercised: what it needs, and one call of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness.hpp"

namespace vectis::test {

struct Exercise {
  std::string slot;
  std::string note;  // what is special about this use of the slot, or nothing
  std::function<void(Rig&)> prepare;
  std::function<Answer(Rig&)> call;        // what it makes, it leaves in the rig
  VectisStatus without_fault = VECTIS_OK;  // what the call says when nothing is wrong below
  bool starts_command = false;             // it gives work to `rig.stream`
};

// At least one for every slot the plug-in fills.
const std::vector<Exercise>& exercises();

// The names of all slots of the contract that the plug-in fills, in the order of the table.
std::vector<std::string> filled_slots();

}  // namespace vectis::test
