// Every failure is a vectis::Error that says what happened, the numbers, and what to do.

#include <iostream>
#include <vectis/vectis.hpp>

int main() {
  vectis::Runtime runtime;
  try {
    const vectis::DeviceContext context = vectis::open_device(runtime, {.device = "cpu"});
    const vectis::DeviceMemory memory(context, UINT64_MAX);
  } catch (const vectis::Error& error) {
    std::cout << describe(error.code()).name << ": " << error.what() << '\n';
    return error.code() == vectis::ErrorCode::invalid_input ? 0 : 1;
  }
  return 1;
}
