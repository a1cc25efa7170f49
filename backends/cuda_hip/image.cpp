#include "image.hpp"

#include <cstdint>
#include <cstring>

#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

struct ImageHead {
  char magic[8];
  std::uint64_t bytes;
  std::uint64_t checksum;
};

constexpr char image_magic[8] = {'V', 'T', 'I', 'M', 'A', 'G', 'E', '1'};

// FNV-1a.
std::uint64_t checksum_of(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return sum;
}

}  // namespace

std::string kept_image(std::string_view code) {
  ImageHead head{};
  std::memcpy(head.magic, image_magic, sizeof image_magic);
  head.bytes = code.size();
  head.checksum = checksum_of(code);
  std::string kept(sizeof head + code.size(), '\0');
  std::memcpy(kept.data(), &head, sizeof head);
  code.copy(kept.data() + sizeof head, code.size());
  return kept;
}

std::string code_of_image(std::string_view kept) {
  ImageHead head{};
  if (kept.size() >= sizeof head) std::memcpy(&head, kept.data(), sizeof head);
  const std::string_view code = kept.substr(kept.size() < sizeof head ? kept.size() : sizeof head);
  if (std::memcmp(head.magic, image_magic, sizeof image_magic) != 0 || head.bytes != code.size() ||
      head.checksum != checksum_of(code)) {
    throw Failure(VECTIS_INVALID_INPUT, "the kept binary of " + std::to_string(kept.size()) +
                                            " bytes is not one this backend wrote, or is damaged");
  }
  return std::string(code);
}

}  // namespace vectis::cuda_hip
