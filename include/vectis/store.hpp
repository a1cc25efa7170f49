// Everything of the layer `store`.
#pragma once

#include "vectis/store/collection.hpp"
#include "vectis/store/vector_store.hpp"
