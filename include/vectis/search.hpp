// Everything of the layer `search`.
#pragma once

#include "vectis/search/index.hpp"
#include "vectis/search/l2_distance.hpp"
#include "vectis/search/metric.hpp"
#include "vectis/search/sample_vectors.hpp"
