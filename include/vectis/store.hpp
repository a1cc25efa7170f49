// All of the store layer: vector stores and their collections.
#pragma once

#include "vectis/store/collection.hpp"
#include "vectis/store/vector_store.hpp"
