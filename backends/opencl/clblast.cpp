#include "clblast.hpp"

#include <array>
#include <string>
#include <string_view>

namespace vectis::opencl {

ClblastSgemm Clblast::sgemm(bool for_gpu) {
  const char* const setting = host_.setting("clblast");
  const std::string_view wanted = setting == nullptr ? "" : setting;
  if (wanted == "off" || (!for_gpu && wanted != "on")) return nullptr;
  const std::lock_guard lock(mutex_);
  if (asked_) return sgemm_;
  asked_ = true;
  std::array<char, 512> words{};
  VectisMessage message{sizeof(VectisMessage), words.data(), words.size(), VECTIS_REASON_NONE};
  void* library = host_.library_open("libclblast.so.1", &message);
  if (library == nullptr) return nullptr;
  sgemm_ = reinterpret_cast<ClblastSgemm>(host_.library_symbol(library, "CLBlastSgemm"));
  return sgemm_;
}

void Clblast::give_up(int code) {
  const std::lock_guard lock(mutex_);
  if (sgemm_ == nullptr) return;
  sgemm_ = nullptr;
  host_.log(VECTIS_LOG_WARNING, "CLBlast failed with status " + std::to_string(code) +
                                    " and is not used any more: products of matrices go on with our own kernel");
}

}  // namespace vectis::opencl
