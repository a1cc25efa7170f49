// All of the search layer: indexes, metrics, filters, exact distances, device reports.
#pragma once

#include "vectis/search/id_filter.hpp"
#include "vectis/search/index.hpp"
#include "vectis/search/l2_distance.hpp"
#include "vectis/search/metric.hpp"
#include "vectis/search/sample_vectors.hpp"
