# embed_files(target name file...): compiles the text of files into `target` as
#   std::span<const EmbeddedFile> hgemm::embedded_<name>();  // {path, text}, sorted by path
# declared in base/embedded.h. Paths are relative to the project folder.
function(embed_files target name)
  set(inputs ${ARGN})
  list(SORT inputs)
  set(output ${PROJECT_BINARY_DIR}/embedded/embedded_${name}.cpp)
  list(TRANSFORM inputs PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE input_paths)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} "-DINPUTS=${inputs}" -DROOT=${PROJECT_SOURCE_DIR}
            -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${input_paths} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
