// The steering table of a driver's library.
#include "steer.h"

#include "control.hpp"
#include "driver.hpp"

namespace {

using vectis::test_driver::Control;
using vectis::test_driver::Driver;

template <class Body>
void locked(Body&& body) {
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  body(driver);
}

const VectisTestDriver steering = {
    .reset = [] { Control::get().reset(); },
    .fail_call = [](const char* function, uint32_t nth,
                    int32_t code) { Control::get().plan_call(function, nth, code); },
    .fail_work = [](uint32_t nth, int32_t code) { Control::get().plan_work(nth, code); },
    .struck = []() -> int32_t { return Control::get().struck() ? 1 : 0; },
    .function_count = [] { return Control::get().function_count(); },
    .function_name = [](uint32_t function) { return Control::get().function_name(function); },
    .calls = [](uint32_t function) { return Control::get().calls(function); },
    .live = [](int32_t kind) { return Control::get().live(kind); },
    .pinned_copies = [] { return Driver::get().pinned_copies.load(); },
    .pageable_copies = [] { return Driver::get().pageable_copies.load(); },
    .violations = [] { return Control::get().violations(); },
    .last_violation = [] { return Control::get().last_violation(); },
    .forgive = [] { Control::get().forgive(); },
    .set_order = [](uint64_t seed) { locked([&](Driver& driver) { driver.queue.set_order(seed); }); },
    .advance_clock = [](uint64_t time) { locked([&](Driver& driver) { driver.queue.advance_clock(time); }); },
    .begin_timeline = [](uint64_t time) { locked([&](Driver& driver) { driver.timeline.begin(time); }); },
    .timeline =
        [](uint64_t* host, uint64_t* overlapped, uint64_t* device) {
          locked([&](Driver& driver) {
            const auto totals = driver.timeline.totals();
            *host = totals.host;
            *overlapped = totals.overlapped;
            *device = totals.device;
          });
        },
    .set = [](const char* key, uint64_t value) { Control::get().set(key, value); },
    .heal = [] { locked([](Driver& driver) { driver.heal(); }); },
    .enqueue = [](const void* stream, const VectisDriverRange* ranges, uint32_t count, void (*run)(void*, char* const*),
                  void (*release)(void*), void* state) -> int32_t {
      const std::shared_ptr<void> kept(state, release);
      try {
        locked([&](Driver& driver) { driver.run_above({ranges, count}, run, kept, stream); });
      } catch (const vectis::test_driver::Refusal& refusal) {
        return refusal.code;
      }
      return 0;
    },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const VectisTestDriver* vectis_test_driver() { return &steering; }
