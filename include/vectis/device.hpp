// All of the device layer: backends, devices, contexts, streams, events, programs, and the doctor.
#pragma once

#include "vectis/device/context.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/doctor.hpp"
#include "vectis/device/program.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/device/transfer.hpp"
