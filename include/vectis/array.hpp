// All of the array layer: arrays, their operations and gradients.
#pragma once

#include "vectis/array/exchange.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/linalg.hpp"
#include "vectis/array/neural.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/array/placement.hpp"
#include "vectis/array/random.hpp"
#include "vectis/array/shape.hpp"
#include "vectis/array/statistics.hpp"
#include "vectis/array/tensor.hpp"
