# Build options.

option(BUILD_SHARED_LIBS "Build libvectis as a shared library" ON)
option(VECTIS_TESTS "Build tests, examples and the backends that serve them" ON)

option(VECTIS_BACKEND_OPENCL "Build the OpenCL plug-in (needs the OpenCL headers, no driver)" ON)
set(VECTIS_BACKEND_WEBGPU AUTO CACHE STRING
    "Build the WebGPU plug-in (needs wgpu.h and glslc, no driver): ON, OFF, or AUTO, which is ON where both are found")
set_property(CACHE VECTIS_BACKEND_WEBGPU PROPERTY STRINGS AUTO ON OFF)
option(VECTIS_BACKEND_CUDA "Build the CUDA plug-in (needs cuda.h, no driver)" ON)
option(VECTIS_BACKEND_HIP "Build the HIP plug-in (needs HIP's headers, no driver)" ON)
set(VECTIS_PYTHON AUTO CACHE STRING
    "Build the Python module (needs Python's headers and nanobind): ON, OFF, or AUTO, which is ON where both are found")
set_property(CACHE VECTIS_PYTHON PROPERTY STRINGS AUTO ON OFF)
option(VECTIS_ONEDNN "Let the CPU use oneDNN for matrix products where it is installed (needs its headers)" ON)

# Options of layers that this version does not have yet. Setting one to ON is an error, never silently ignored.
foreach(layer IN ITEMS nn server)
  string(TOUPPER ${layer} upper)
  option(VECTIS_${upper} "Build the ${layer} layer" OFF)
  if(VECTIS_${upper})
    message(FATAL_ERROR "VECTIS_${upper}=ON: version ${PROJECT_VERSION} has no ${layer} layer; leave it OFF")
  endif()
endforeach()

set(VECTIS_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address' (with undefined) or 'thread'")
set_property(CACHE VECTIS_SANITIZE PROPERTY STRINGS "" address thread)
option(VECTIS_COVERAGE "Instrument for line coverage" OFF)
