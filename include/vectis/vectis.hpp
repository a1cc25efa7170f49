// The whole public API of Vectis, every layer. Include <vectis/LAYER.hpp> instead to compile less.
#pragma once

#include "vectis/array.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel.hpp"
#include "vectis/memory.hpp"
#include "vectis/nn.hpp"
#include "vectis/plan.hpp"
#include "vectis/search.hpp"
#include "vectis/store.hpp"
