// Fuzzes read_allocation_log, and writes every log it accepts.
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/memory.hpp"

namespace vectis::fuzz {

namespace {

AllocationLog read(std::string_view text) {
  std::istringstream in{std::string(text)};
  return read_allocation_log(in);
}

void use(const AllocationLog& log) noexcept {
  validate_allocation_log(log);
  expect(log.peak_bytes() <= log_live_bytes_max && log.allocations() <= log.events.size());
  std::ostringstream out;
  write_allocation_log(out, log);
  expect(read(out.str()).events == log.events);
}

void read_and_use(BytesView file) { use(read(text_of(file))); }

std::vector<Bytes> seeds() {
  return {bytes_of("vectis-allocation-log 1\n"),
          bytes_of("vectis-allocation-log 1\n"
                   "# a comment\n"
                   "a 1 4096 fp32 0 weights/embedding\n"
                   "a 2 98304 bf16 1 %2Dactivations%20%25 @1500\n"
                   "f 2 @2750\n"
                   "a 18446744073709551615 4611686018427289599 fp16 1024 - @2750\n"
                   "a 0 1 int8 2 %40\n"
                   "f 1\n")};
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data}};

}  // namespace vectis::fuzz
