// Other schedules for concurrent tests: every lock and every atomic write may pause its thread, drawn by a seed.
//
// The linker redirects the calls of a ThreadSanitizer build to the functions below (--wrap, see CMakeLists.txt), so
// that the library's sources need no yield points: ThreadSanitizer turns each atomic operation into a call. Pauses
// widen the windows between two writes that a reader may see one of, which a test without them passes in nanoseconds.
//
// This file is compiled without ThreadSanitizer, so that nothing in it is redirected.
//
// VECTIS_TEST_SCHEDULE=<seed> turns the pauses on. A seed repeats what each thread draws, not the schedule itself.

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

struct ThreadSchedule {
  std::uint64_t state = 0;        // of the generator, 0: not drawn yet
  std::uint32_t points_left = 1;  // until the next pause
  std::uint32_t pauses = 0;
};

constinit thread_local ThreadSchedule schedule;
constinit std::uint64_t thread_count = 0;

std::uint64_t read_seed() {
  const char* text = std::getenv("VECTIS_TEST_SCHEDULE");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

// xorshift64*, which needs no call into code that has locks.
std::uint64_t draw() {
  std::uint64_t x = schedule.state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  schedule.state = x;
  return (x * 0x2545F4914F6CDD1DULL) >> 16;
}

// Half of the pauses let another thread run, the others sleep 20 us to 0.3 ms, a few of them ten times as long.
void pause_thread() {
  const std::uint64_t drawn = draw();
  if (drawn % 2 == 0) {
    sched_yield();
    return;
  }
  const long microseconds = 20 + static_cast<long>((drawn / 2) % 280);
  const timespec time{.tv_sec = 0, .tv_nsec = microseconds * (drawn / 1024 % 16 == 0 ? 10'000 : 1'000)};
  nanosleep(&time, nullptr);
}

// Pauses are frequent in the first operations of a thread and rarer later, so that long tests end in time.
void point() {
  if (--schedule.points_left != 0) return;
  static const std::uint64_t seed = read_seed();
  if (seed == 0) return;  // the counter wraps: asks again after 2^32 points
  if (schedule.state == 0) {
    schedule.state = (seed + 0x9E3779B97F4A7C15ULL * (1 + __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED))) | 1;
  } else {
    pause_thread();
    ++schedule.pauses;
  }
  schedule.points_left = 1 + static_cast<std::uint32_t>(draw() % (8 + (schedule.pauses < 500 ? schedule.pauses : 500)));
}

}  // namespace

// Visible, because a shared library that ThreadSanitizer instruments calls them as well.
#pragma GCC visibility push(default)
extern "C" {
// NOLINTBEGIN: the names are the linker's and ThreadSanitizer's

#define VECTIS_REDIRECT_LOCK(name, type)    \
  int __real_##name(type* lock);            \
  int __wrap_##name(type* lock) {           \
    point();                                \
    const int result = __real_##name(lock); \
    point();                                \
    return result;                          \
  }

VECTIS_REDIRECT_LOCK(pthread_mutex_lock, pthread_mutex_t)
VECTIS_REDIRECT_LOCK(pthread_mutex_trylock, pthread_mutex_t)
VECTIS_REDIRECT_LOCK(pthread_mutex_unlock, pthread_mutex_t)
VECTIS_REDIRECT_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
VECTIS_REDIRECT_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
VECTIS_REDIRECT_LOCK(pthread_rwlock_unlock, pthread_rwlock_t)

#define VECTIS_REDIRECT_READ_MODIFY_WRITE(bits, type, operation)                               \
  type __real___tsan_atomic##bits##_##operation(volatile type* place, type value, int order);  \
  type __wrap___tsan_atomic##bits##_##operation(volatile type* place, type value, int order) { \
    point();                                                                                   \
    const type before = __real___tsan_atomic##bits##_##operation(place, value, order);         \
    point();                                                                                   \
    return before;                                                                             \
  }

#define VECTIS_REDIRECT_COMPARE_EXCHANGE(bits, type, strength)                                                        \
  int __real___tsan_atomic##bits##_compare_exchange_##strength(volatile type* place, type* expected, type value,      \
                                                               int order, int failed);                                \
  int __wrap___tsan_atomic##bits##_compare_exchange_##strength(volatile type* place, type* expected, type value,      \
                                                               int order, int failed) {                               \
    point();                                                                                                          \
    const int done = __real___tsan_atomic##bits##_compare_exchange_##strength(place, expected, value, order, failed); \
    point();                                                                                                          \
    return done;                                                                                                      \
  }

#define VECTIS_REDIRECT_ATOMICS(bits, type)                                              \
  void __real___tsan_atomic##bits##_store(volatile type* place, type value, int order);  \
  void __wrap___tsan_atomic##bits##_store(volatile type* place, type value, int order) { \
    point();                                                                             \
    __real___tsan_atomic##bits##_store(place, value, order);                             \
    point();                                                                             \
  }                                                                                      \
  VECTIS_REDIRECT_READ_MODIFY_WRITE(bits, type, exchange)                                \
  VECTIS_REDIRECT_READ_MODIFY_WRITE(bits, type, fetch_add)                               \
  VECTIS_REDIRECT_READ_MODIFY_WRITE(bits, type, fetch_sub)                               \
  VECTIS_REDIRECT_READ_MODIFY_WRITE(bits, type, fetch_or)                                \
  VECTIS_REDIRECT_READ_MODIFY_WRITE(bits, type, fetch_and)                               \
  VECTIS_REDIRECT_COMPARE_EXCHANGE(bits, type, strong)                                   \
  VECTIS_REDIRECT_COMPARE_EXCHANGE(bits, type, weak)

VECTIS_REDIRECT_ATOMICS(8, unsigned char)
VECTIS_REDIRECT_ATOMICS(32, unsigned int)
VECTIS_REDIRECT_ATOMICS(64, unsigned long long)

// NOLINTEND
}
#pragma GCC visibility pop
