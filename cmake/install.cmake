# What `cmake --install` puts where: the program, what it finds beside itself, its man page, its
# completion in shells, and its licences.
include(GNUInstallDirs)

install(TARGETS hgemm-tune)
install(DIRECTORY configs results DESTINATION ${CMAKE_INSTALL_DATADIR}/hgemm-tune
        PATTERN "recording.db*" EXCLUDE)
install(FILES ${drawing} DESTINATION ${CMAKE_INSTALL_DATADIR}/hgemm-tune/analysis)
install(FILES include/hgemm_peer.h TYPE INCLUDE)
# What loads bundles: the library and its headers.
install(TARGETS hgemm_runtime LIBRARY)
install(FILES runtime/include/hgemm_bundle.h package/include/hgemm_tuned_types.h TYPE INCLUDE)
install(FILES LICENSE CHANGELOG.md README.md packaging/copyright
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The program writes its own man page. A build with AddressSanitizer would also judge what it leaks.
set(man_page ${PROJECT_BINARY_DIR}/hgemm-tune.1)
add_custom_command(OUTPUT ${man_page}
  COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0
          $<TARGET_FILE:hgemm-tune> help --format man > ${man_page}
  DEPENDS hgemm-tune
  COMMENT "Writing the man page"
  VERBATIM)
add_custom_target(man_page ALL DEPENDS ${man_page})
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# Where each shell looks. Debian's zsh has a folder of its own for what is in packages.
set(zsh_folders site-functions)
if(EXISTS /etc/debian_version)
  list(APPEND zsh_folders vendor-completions)
endif()
install(FILES src/program/completion/bash.sh RENAME hgemm-tune
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
foreach(folder IN LISTS zsh_folders)
  install(FILES src/program/completion/zsh.sh RENAME _hgemm-tune
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder})
endforeach()
install(FILES src/program/completion/fish.sh RENAME hgemm-tune.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# A Debian package: cpack --config build/CPackConfig.cmake -B FOLDER. The libraries of CUDA are
# recommended, not required: many machines have them from elsewhere than NVIDIA's packages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hgemm-tune)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "autotuner for matrix multiplication on Hopper GPUs")
set(CPACK_PACKAGE_DESCRIPTION
"Finds the fastest verified GEMM kernel for each shape on an H100 or H200, says how it stands
against cuBLAS, and exports it. Answers from recorded results where there is no such GPU.
Needs NVRTC and cuBLAS of CUDA ${CUDAToolkit_VERSION_MAJOR}.")
set(CPACK_PACKAGE_VENDOR "The hgemm-tune authors")
# Whoever distributes the package says who:
#   cpack -D CPACK_DEBIAN_PACKAGE_MAINTAINER="Name <address>"
set(CPACK_PACKAGE_CONTACT "The hgemm-tune authors <root@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libstdc++6, libgcc-s1")
endif()
set(cuda_release ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "libcublas-${cuda_release}, cuda-nvrtc-${cuda_release}, python3-matplotlib")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cuda-cupti-${cuda_release}")
include(CPack)
