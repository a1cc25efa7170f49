// All of the base layer: errors, logging, settings, runtime, executors, coroutines, bytes, element types.
#pragma once

#include "vectis/base/bytes.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/file.hpp"
#include "vectis/base/format.hpp"
#include "vectis/base/log.hpp"
#include "vectis/base/mailbox.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/random.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/base/settings.hpp"
#include "vectis/base/task.hpp"
#include "vectis/base/time.hpp"
