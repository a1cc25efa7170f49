// When calls and queued work would run on a device: work of the host between calls, and work of the device, whose
// kernels take a given time and whose copies go at a given rate. A copy from or to pageable memory makes the host wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace vectis::test_driver {

class Timeline {
 public:
  enum class Engine : std::uint8_t { kernels, copies_in, copies_out };

  // Begins anew, with kernels of this duration; 0: ends.
  void begin(std::uint64_t kernel_nanoseconds);
  // The host is in a call of the driver.
  class Call {
   public:
    explicit Call(Timeline& timeline) : timeline_(timeline) { timeline_.enter(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { timeline_.leave(); }

   private:
    Timeline& timeline_;
  };

  void kernel(const void* stream) { add(stream, Engine::kernels, kernel_nanoseconds_); }
  void copy(const void* stream, Engine engine, std::size_t bytes, bool pageable);
  // When the work that is queued on a stream ends; the host, or another stream, waits for that.
  [[nodiscard]] std::uint64_t end_of(const void* stream) { return stream_ends_[stream]; }
  void wait_until(std::uint64_t time);
  void delay(const void* stream, std::uint64_t time);

  struct Totals {
    std::uint64_t host = 0;        // nanoseconds of work of the host, without waiting
    std::uint64_t overlapped = 0;  // of these, while the device worked
    std::uint64_t device = 0;      // nanoseconds in which the device worked
  };
  [[nodiscard]] Totals totals() const;

 private:
  struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  void enter();
  void leave();
  void add(const void* stream, Engine engine, std::uint64_t duration);
  [[nodiscard]] std::vector<Interval> device_intervals() const;

  std::uint64_t kernel_nanoseconds_ = 0;  // 0: nothing is recorded
  std::uint64_t now_ = 0;                 // of the host
  std::uint64_t left_ = 0;                // on the machine's clock
  std::map<const void*, std::uint64_t> stream_ends_;
  std::map<Engine, std::uint64_t> engine_ends_;
  std::vector<Interval> host_;
  std::vector<Interval> device_;
};

}  // namespace vectis::test_driver
