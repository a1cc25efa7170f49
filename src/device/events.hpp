// Recording an event by whoever holds the stream's core: the pool releases buffers after their Stream was moved.
#pragma once

#include "device/cores.hpp"

namespace vectis::inline v0_1::detail {

// Moves the event to the end of the stream's present work. Called by the thread that uses the stream.
void record_event(const StreamCore& stream, EventCore& event);

}  // namespace vectis::inline v0_1::detail
