# What a Python wheel holds beside python/hgemm_tune: the program, of the shipped files those that it
# opens itself, the libraries of bundles and of torch's operators, and the bundle of each GPU that
# scripts/record_tokens.sh has recorded. (All recorded results are
# several times as large as an index takes.)
#
# The program once more, since a run path is of the link: the wheels of NVIDIA lie beside
# hgemm_tune/bin in site-packages. Where they are not installed, the system's libraries are taken.
add_executable(wheel_program src/main/main.cpp)
target_link_libraries(wheel_program PRIVATE warnings hgemm_program)
set_target_properties(wheel_program PROPERTIES
  OUTPUT_NAME hgemm-tune RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel/bin
  INSTALL_RPATH "$ORIGIN/../../nvidia/cu13/lib;${CMAKE_INSTALL_RPATH}")
add_dependencies(wheel_program hgemm_torch)  # all that pip builds

set(wheel_share share/hgemm-tune)
install(TARGETS wheel_program RUNTIME DESTINATION bin COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS hgemm_runtime hgemm_torch LIBRARY DESTINATION lib COMPONENT wheel EXCLUDE_FROM_ALL)
install(DIRECTORY configs DESTINATION ${wheel_share} COMPONENT wheel EXCLUDE_FROM_ALL)
install(DIRECTORY results DESTINATION ${wheel_share} COMPONENT wheel EXCLUDE_FROM_ALL
        FILES_MATCHING REGEX "/results/[^/]+/(tune|referee-fp8|fp8-layers|truth|study)\\.db$")
install(FILES ${drawing} DESTINATION ${wheel_share}/analysis COMPONENT wheel EXCLUDE_FROM_ALL)
file(GLOB recorded_bundles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/results/*/tokens.hgb)
foreach(bundle ${recorded_bundles})
  cmake_path(GET bundle PARENT_PATH folder)
  cmake_path(GET folder FILENAME gpu)
  install(FILES ${bundle} DESTINATION shipped RENAME ${gpu}.hgb COMPONENT wheel EXCLUDE_FROM_ALL)
endforeach()
