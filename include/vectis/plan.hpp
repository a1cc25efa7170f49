// The planner: measured device profiles, predicted run times, and the choice of a device with its explanation.
#pragma once

#include "vectis/plan/planner.hpp"
#include "vectis/plan/profile.hpp"
#include "vectis/plan/workload.hpp"
