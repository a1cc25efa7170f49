// Fuzzes parse_csv, and reads every table it accepts.
#include "tests/fuzz/fuzz.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::fuzz {

namespace {

// A table has the columns that its header names.
void use(const nn::CsvTable& table) noexcept {
  const auto columns = static_cast<std::size_t>(table.values.extent(1));
  expect(table.columns.empty() || table.columns.size() == columns);
  expect(table.values.to_cpu<float>().size() == columns * static_cast<std::size_t>(table.values.extent(0)));
  if (!table.columns.empty()) expect(table.column(table.columns[0]) == 0);
}

// The first byte chooses the options.
void read_and_use(BytesView file) {
  nn::CsvOptions options;
  if (!file.empty()) {
    const auto choice = std::to_integer<unsigned>(file[0]);
    if ((choice & 1U) != 0) options.delimiter = ';';
    if ((choice & 2U) != 0) options.missing = -1.0F;
    if ((choice & 4U) != 0) options.header = (choice & 8U) != 0;
    file = file.subspan(1);
  }
  use(nn::parse_csv(text_of(file), options));
}

std::vector<Bytes> seeds() {
  return {bytes_of("01,2\n3,4\n"), bytes_of("1a;\"b;\"\"c\"\r\n1e3;-inf\r\n"), bytes_of("2,1\nnan,\n"),
          bytes_of("<1\n2\n"), bytes_of("")};
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data}};

}  // namespace vectis::fuzz
