#include "kernel/launch/compile.hpp"

#include <fmt/format.h>

#include <charconv>

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::string_view functions_suffix = ".functions";

bool takes(Dialect dialect, KernelOrigin origin) noexcept {
  if (dialect == Dialect::wgsl) return origin == KernelOrigin::generated;
  if (dialect == Dialect::glsl_webgpu) return origin != KernelOrigin::users;
  return true;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Takes ":12" or "(12)" off the end of `place`.
std::optional<std::uint32_t> take_number(std::string_view& place) {
  std::string_view rest = place;
  const bool bracket = rest.ends_with(')');
  if (bracket) rest.remove_suffix(1);
  const std::size_t digits = rest.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == rest.size() || rest[digits - 1] != (bracket ? '(' : ':')) return std::nullopt;
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(rest.data() + digits, rest.data() + rest.size(), number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  place = rest.substr(0, digits - 1);
  return number;
}

// "file:3:7", "file:3" or "file(3)". Inside a macro's arguments PoCL writes "file:3:7 <Spelling=file:3:26>": where the
// macro is used, and where the text with the error stands, which is taken if both are in one file.
std::optional<CompilerError> parse_place(std::string_view place, std::string_view message) {
  constexpr std::string_view spelling = " <Spelling=";
  if (const std::size_t at = place.find(spelling); at != std::string_view::npos && place.ends_with('>')) {
    const auto used = parse_place(place.substr(0, at), message);
    const auto spelled =
        parse_place(place.substr(at + spelling.size(), place.size() - at - spelling.size() - 1), message);
    return used && spelled && used->file == spelled->file ? spelled : used;
  }
  const auto last = take_number(place);
  if (!last) return std::nullopt;
  const auto before = take_number(place);
  return CompilerError{std::string(place), before ? *before : *last, before ? *last : 0, std::string(message)};
}

std::optional<CompilerError> parse_line(std::string_view line) {
  for (const std::string_view mark : {"error: ", "fatal error: "}) {  // the mark first
    if (!line.starts_with(mark)) continue;
    const std::string_view rest = line.substr(mark.size());
    const std::size_t colon = rest.find(": ");
    return colon == std::string_view::npos ? std::nullopt : parse_place(rest.substr(0, colon), rest.substr(colon + 2));
  }
  for (const std::string_view mark : {": error: ", ": fatal error: "}) {  // the place first
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    if (auto error = parse_place(line.substr(0, at), line.substr(at + mark.size()))) return error;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Dialect> printed_dialect(const DeviceInfo& info, KernelOrigin origin) {
  for (const std::string& word : info.dialects) {
    const auto dialect = parse_dialect(word);
    if (dialect && takes(*dialect, origin)) return dialect;
  }
  return std::nullopt;
}

std::optional<CompilerError> first_error(std::string_view output, std::string_view file) {
  std::optional<CompilerError> first;
  while (!output.empty()) {
    auto error = parse_line(take_line(output));
    if (!error) continue;
    const bool wanted =
        file.empty() || error->file == file || error->file == fmt::format("{}{}", file, functions_suffix);
    if (wanted) return error;
    if (!first) first = std::move(error);
  }
  return first;
}

Error explain_compile_error(const Error& error, std::string_view kernel, std::string_view file) {
  const auto found = first_error(error.detail(), file);
  if (!found) {
    return {ErrorCode::compile_failed, "compile_kernel", fmt::format("kernel '{}': {}", kernel, error.what()),
            error.detail()};
  }
  const bool own = file.empty() || found->file.starts_with(file);
  const bool in_functions = !file.empty() && found->file == fmt::format("{}{}", file, functions_suffix);
  const std::string column = found->column == 0 ? "" : fmt::format(", column {}", found->column);
  const std::string where = own ? "" : fmt::format(", in {}", found->file);
  return {ErrorCode::compile_failed, "compile_kernel",
          fmt::format("kernel '{}'{}{}, line {}{}: {}", kernel, in_functions ? ", functions" : "", where, found->line,
                      column, found->message),
          error.detail()};
}

}  // namespace vectis::inline v0_1::detail
