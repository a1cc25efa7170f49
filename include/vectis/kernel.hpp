// All of the layer `kernel`: kernels written once, the named operations, generated kernels, the user's own, the
// profiler.
#pragma once

#include "vectis/kernel/cache.hpp"
#include "vectis/kernel/custom.hpp"
#include "vectis/kernel/ir.hpp"
#include "vectis/kernel/map.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/kernel/ops.hpp"
#include "vectis/kernel/profiler.hpp"
#include "vectis/kernel/source.hpp"
#include "vectis/kernel/tuner.hpp"
