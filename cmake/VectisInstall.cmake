# Installs headers, library, programs, a CMake package and a pkg-config file; vectis_plugin() installs plug-ins.
# No installed file contains the prefix, so that an installed folder can be moved.

include(CMakePackageConfigHelpers)

# Programs find the library relative to their own path.
file(RELATIVE_PATH from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
file(RELATIVE_PATH from_libexec "/${CMAKE_INSTALL_LIBEXECDIR}/vectis" "/${CMAKE_INSTALL_LIBDIR}")
set_target_properties(vectis_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin}")
set_target_properties(vectis_probe PROPERTIES INSTALL_RPATH "$ORIGIN/${from_libexec}")

# Not in libvectis, and so not installed: the conformance suite and the report of a device.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/vectis" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        PATTERN "kernel/conformance.hpp" EXCLUDE PATTERN "search/report.hpp" EXCLUDE)
install(TARGETS vectis EXPORT vectis-targets)
install(TARGETS vectis_cli)
install(TARGETS vectis_probe DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/vectis")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/docs/writing-a-backend.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# The CMake package.
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/vectis")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/vectisConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/package/vectisConfig.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/vectisConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT vectis-targets NAMESPACE vectis:: FILE vectisTargets.cmake DESTINATION "${package_folder}")
install(FILES "${PROJECT_BINARY_DIR}/package/vectisConfig.cmake"
              "${PROJECT_BINARY_DIR}/package/vectisConfigVersion.cmake" DESTINATION "${package_folder}")

# The pkg-config file. Users of the static library must link its dependencies and the C++ run-time library, so a static
# package lists them as public: plain `pkg-config --libs vectis` works for both.
file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
set(pc_requires "")
set(pc_libs "")
set(pc_cflags "")
if(NOT BUILD_SHARED_LIBS)
  set(pc_requires "tbb, yaml-cpp, fmt, libhwy, libutf8proc")
  set(pc_libs "-ldl")
  set(pc_cflags "-DVECTIS_STATIC")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/vectis.pc.in" "${PROJECT_BINARY_DIR}/package/vectis.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/vectis.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
