# pip wheel . -C cmake.define.HGEMM_FINISHED_BUILD=FOLDER: what the wheel holds is installed from that
# folder, by its own rules.
cmake_path(ABSOLUTE_PATH HGEMM_FINISHED_BUILD BASE_DIRECTORY ${PROJECT_SOURCE_DIR} NORMALIZE)
if(NOT EXISTS ${HGEMM_FINISHED_BUILD}/cmake_install.cmake)
  message(FATAL_ERROR "HGEMM_FINISHED_BUILD: ${HGEMM_FINISHED_BUILD} is no build folder; build the "
    "project there first, or leave the setting out: then the wheel is built from the sources")
endif()
add_custom_target(wheel_program)  # what pip builds; it is there
install(CODE "
  execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${HGEMM_FINISHED_BUILD}\"
      --component wheel --prefix \"\${CMAKE_INSTALL_PREFIX}\" --strip
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT wheel)
