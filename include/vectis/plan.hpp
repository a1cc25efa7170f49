// All of the layer `plan`: how fast each device is, what a piece of work costs on it, the choice and its explanation.
#pragma once

#include "vectis/plan/planner.hpp"
#include "vectis/plan/profile.hpp"
#include "vectis/plan/workload.hpp"
