# The summary at the end of the configuration: which plug-ins and modules are built, and why others are not.

# vectis_summarize(<name> <text>...): adds a line, such as `vectis_summarize(cuda "not built: cuda.h is not found")`.
function(vectis_summarize name)
  string(JOIN "" text ${ARGN})
  string(LENGTH "${name}" length)
  math(EXPR padding "8 - ${length}")
  string(REPEAT " " ${padding} spaces)
  set_property(GLOBAL APPEND PROPERTY VECTIS_SUMMARY "  ${name}${spaces}${text}")
endfunction()

# Prints the lines in the order in which they were added.
function(vectis_print_summary)
  get_property(lines GLOBAL PROPERTY VECTIS_SUMMARY)
  message(STATUS "Vectis ${PROJECT_VERSION} will have these backends:")
  foreach(line IN LISTS lines)
    message(STATUS "${line}")
  endforeach()
endfunction()
