# Regenerates revision.cpp when the git revision changes: provenance of every recorded number.
set(revision_cpp ${PROJECT_BINARY_DIR}/embedded/revision.cpp)
add_custom_target(revision
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${revision_cpp}
          -P ${PROJECT_SOURCE_DIR}/cmake/revision_script.cmake
  BYPRODUCTS ${revision_cpp}
  COMMENT "Reading the git revision")
