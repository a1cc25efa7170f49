// What this machine can do at most, measured now: the yardsticks of ./dev bench exact.
#pragma once

#include "vectis/base/executor.hpp"

namespace bench {

// Gigabytes a second that `executor`'s threads read together out of 512 MiB that no cache holds.
double read_bandwidth(vectis::Executor& executor);

// Billions of int8 operations (a product and a sum are two) a second of one thread with everything in registers: AMX
// where it is there, else 0.
double amx_int8_peak();

}  // namespace bench
