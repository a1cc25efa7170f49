// Linking rows into the graph on a device.
#pragma once

#include <cstddef>
#include <span>

#include "search/graph/body.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::graph {

// Whether so many rows more are worth bringing all of them to a device.
[[nodiscard]] bool worth_a_device(std::size_t rows, std::size_t linked) noexcept;

// As link_rows of build.hpp, by the same rules and in batches of the same part of what is linked: walks and choices of
// links are computed by the device, from coordinates that are not rounded to codes; who got new neighbours is put
// together here. The first `rows` of the body are brought there. When it throws, no link was changed.
void link_rows_on_device(Runtime& runtime, const Device& device, Body& body, std::size_t rows,
                         std::span<const Slot> entries, std::span<const Slot> slots, std::size_t linked);

}  // namespace vectis::inline v0_1::graph
