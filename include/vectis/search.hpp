// Everything of the layer `search`.
#pragma once

#include "vectis/search/distance.hpp"
#include "vectis/search/index.hpp"
