// The memory layer: the pool, its buffers and statistics, composable resources, out-of-memory reports, snapshots, logs.
#pragma once

#include "vectis/memory/buffer.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/log.hpp"
#include "vectis/memory/pool.hpp"
#include "vectis/memory/resource.hpp"
#include "vectis/memory/scope.hpp"
#include "vectis/memory/snapshot.hpp"
#include "vectis/memory/statistics.hpp"
