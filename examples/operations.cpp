// Named operations on the default device: distances of a query to four vectors, and the two nearest of them.

#include <array>
#include <cstdlib>
#include <iostream>
#include <span>
#include <vectis/vectis.hpp>
#include <vector>

int main() {
  using vectis::DType;
  constexpr std::size_t count = 4;
  constexpr std::size_t dimension = 3;
  const std::array<float, dimension> query = {1, 2, 3};
  const std::array<float, count * dimension> vectors = {9, 9, 9, 1, 2, 4, 0, 0, 0, 1, 2, 3};

  vectis::Runtime runtime;
  const vectis::DeviceContext context = vectis::open_device(runtime);
  vectis::Stream stream(context);
  const auto floats = [&](std::size_t elements) { return vectis::DeviceMemory(context, elements * sizeof(float)); };
  const vectis::DeviceMemory q = floats(dimension);
  const vectis::DeviceMemory x = floats(count * dimension);
  const vectis::DeviceMemory distances = floats(count);
  const vectis::DeviceMemory nearest = floats(2);
  const vectis::DeviceMemory places = floats(2);

  stream.copy_to_device(q, 0, std::as_bytes(std::span(query)));
  stream.copy_to_device(x, 0, std::as_bytes(std::span(vectors)));
  vectis::run(stream, "l2_squared",
              {{q, DType::float32, 1, dimension},
               {x, DType::float32, count, dimension},
               {distances, DType::float32, 1, count}});
  vectis::run(stream, "top_k",
              {{distances, DType::float32, 1, count}, {nearest, DType::float32, 1, 2}, {places, DType::int32, 1, 2}},
              {0});  // 0: the smallest
  std::array<float, 2> values{};
  std::array<std::int32_t, 2> indices{};
  stream.copy_to_host(std::as_writable_bytes(std::span(values)), nearest, 0);
  stream.copy_to_host(std::as_writable_bytes(std::span(indices)), places, 0);
  stream.synchronize();

  for (std::size_t i = 0; i < values.size(); ++i) {
    std::cout << "vector " << indices[i] << " at squared distance " << values[i] << '\n';
  }
  return indices == std::array<std::int32_t, 2>{3, 1} && values == std::array<float, 2>{0, 1} ? EXIT_SUCCESS
                                                                                              : EXIT_FAILURE;
}
