# The C++ libraries of others, found by the packages that CMake knows of them, whoever installed
# those (Debian, Ubuntu, Fedora, conda, vcpkg, or `cmake --install`):
#   hgemm::CLI11 hgemm::nlohmann_json hgemm::fmt hgemm::xxhash         used as headers
#   hgemm::yaml-cpp hgemm::SQLiteCpp hgemm::SQLite3                    linked
# Included by the project, and by tests/packaging/libraries, which tries other machines' packages.
option(HGEMM_STATIC "Link other people's libraries statically where there is a static one" ON)

# Stops, and says what to install. DEBIAN, FEDORA, CONDA, VCPKG: names of packages.
function(hgemm_missing name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DEBIAN;FEDORA;CONDA;VCPKG" "")
  message(FATAL_ERROR "${name} was not found. Install one of these, or name its prefix in "
    "CMAKE_PREFIX_PATH:\n"
    "  Debian, Ubuntu   apt-get install ${arg_DEBIAN}\n"
    "  Fedora           dnf install ${arg_FEDORA}\n"
    "  conda-forge      conda install -c conda-forge ${arg_CONDA}\n"
    "  vcpkg            vcpkg install ${arg_VCPKG}\n")
endfunction()

# Sets `result` to the first of the targets that there is, as the target that it is an alias of.
function(hgemm_first_target result)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      get_target_property(aliased ${target} ALIASED_TARGET)
      if(aliased)
        set(target ${aliased})
      endif()
      set(${result} ${target} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} "" PARENT_SCOPE)
endfunction()

# Sets `result` to the folders of headers that using `target` adds, less those that the compiler
# looks into by itself: named once more they would come before the compiler's own.
function(hgemm_include_dirs result target)
  get_target_property(dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set(found)
  if(dirs)
    foreach(dir IN LISTS dirs)
      cmake_path(SET dir NORMALIZE "${dir}")
      string(REGEX REPLACE "(.)/$" "\\1" dir "${dir}")
      if(NOT dir IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
        list(APPEND found "${dir}")
      endif()
    endforeach()
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Sets `result` to the file of an imported library, or to "" (it is one of headers alone).
function(hgemm_file_of result target)
  get_target_property(kind ${target} TYPE)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  set(file "")
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")
    set(properties IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NONE
        IMPORTED_LOCATION_NOCONFIG)
    foreach(configuration IN LISTS configurations)
      list(APPEND properties IMPORTED_LOCATION_${configuration})
    endforeach()
    foreach(property IN LISTS properties)
      get_target_property(location ${target} ${property})
      if(location)
        set(file ${location})
        break()
      endif()
    endforeach()
  endif()
  set(${result} "${file}" PARENT_SCOPE)
endfunction()

# hgemm_library_of(<name> PACKAGE <CMake's name> TARGETS <names of its target, old and new>
#                  LIBRARY <file name without lib and suffix> [NEEDS <libraries>]
#                  INSTALL <as of hgemm_missing>)
# makes hgemm::<name>. Debian's packages have static libraries that their CMake files do not name:
# the one beside the shared library is of the same build, and no other is taken.
function(hgemm_library_of name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;LIBRARY" "TARGETS;NEEDS;INSTALL")
  find_package(${arg_PACKAGE} QUIET)
  hgemm_first_target(target ${arg_TARGETS})
  if(NOT target)
    hgemm_missing(${name} ${arg_INSTALL})
  endif()
  hgemm_file_of(file ${target})
  set(archive "")
  if(HGEMM_STATIC AND file)
    cmake_path(GET file PARENT_PATH folder)
    set(candidate
        ${folder}/${CMAKE_STATIC_LIBRARY_PREFIX}${arg_LIBRARY}${CMAKE_STATIC_LIBRARY_SUFFIX})
    if(EXISTS ${candidate})
      set(archive ${candidate})
    endif()
  endif()
  if(archive)
    hgemm_include_dirs(include_dirs ${target})
    get_target_property(definitions ${target} INTERFACE_COMPILE_DEFINITIONS)
    # What the target itself needs is not taken over: it may name shared libraries.
    add_library(hgemm::${name} STATIC IMPORTED)
    set_target_properties(hgemm::${name} PROPERTIES
      IMPORTED_LOCATION ${archive} INTERFACE_INCLUDE_DIRECTORIES "${include_dirs}"
      INTERFACE_LINK_LIBRARIES "${arg_NEEDS}")
    if(definitions)
      target_compile_definitions(hgemm::${name} INTERFACE ${definitions})
    endif()
    message(STATUS "${name}: ${archive}")
  else()
    add_library(hgemm::${name} INTERFACE IMPORTED)
    target_link_libraries(hgemm::${name} INTERFACE ${target} ${arg_NEEDS})
    message(STATUS "${name}: ${file} (what is built runs only where this is)")
  endif()
endfunction()

# hgemm_headers_of(<name> PACKAGE <CMake's name> TARGETS <names> INSTALL <as of hgemm_missing>)
# makes hgemm::<name> of a library's headers alone.
function(hgemm_headers_of name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE" "TARGETS;INSTALL")
  find_package(${arg_PACKAGE} QUIET)
  hgemm_first_target(target ${arg_TARGETS})
  if(NOT target)
    hgemm_missing(${name} ${arg_INSTALL})
  endif()
  hgemm_include_dirs(include_dirs ${target})
  add_library(hgemm::${name} INTERFACE IMPORTED)
  target_include_directories(hgemm::${name} SYSTEM INTERFACE ${include_dirs})
  set(${arg_PACKAGE}_VERSION ${${arg_PACKAGE}_VERSION} PARENT_SCOPE)
endfunction()

find_package(Threads REQUIRED)
hgemm_headers_of(CLI11 PACKAGE CLI11 TARGETS CLI11::CLI11
  INSTALL DEBIAN libcli11-dev FEDORA "'cmake(CLI11)'" CONDA cli11 VCPKG cli11)
hgemm_headers_of(nlohmann_json PACKAGE nlohmann_json TARGETS nlohmann_json::nlohmann_json
  INSTALL DEBIAN nlohmann-json3-dev FEDORA "'cmake(nlohmann_json)'" CONDA nlohmann_json
  VCPKG nlohmann-json)
hgemm_headers_of(fmt PACKAGE fmt TARGETS fmt::fmt fmt::fmt-header-only
  INSTALL DEBIAN libfmt-dev FEDORA "'cmake(fmt)'" CONDA fmt VCPKG fmt)
# src/base/fmt.cpp is the compiled part, with the definitions of fmt 9.
if(NOT fmt_VERSION MATCHES "^9\\.")
  target_compile_definitions(hgemm::fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
find_path(XXHASH_INCLUDE_DIR xxhash.h)
if(NOT XXHASH_INCLUDE_DIR)
  hgemm_missing(xxHash DEBIAN libxxhash-dev FEDORA "'pkgconfig(libxxhash)'" CONDA xxhash
    VCPKG xxhash)
endif()
add_library(hgemm::xxhash INTERFACE IMPORTED)
if(NOT XXHASH_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
  target_include_directories(hgemm::xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
endif()

hgemm_library_of(SQLite3 PACKAGE SQLite3 LIBRARY sqlite3
  TARGETS SQLite3::SQLite3 SQLite::SQLite3
  NEEDS Threads::Threads ${CMAKE_DL_LIBS} m
  INSTALL DEBIAN libsqlite3-dev FEDORA "'pkgconfig(sqlite3)'" CONDA sqlite VCPKG sqlite3)
hgemm_library_of(SQLiteCpp PACKAGE SQLiteCpp LIBRARY SQLiteCpp TARGETS SQLiteCpp
  NEEDS hgemm::SQLite3
  INSTALL DEBIAN libsqlitecpp-dev FEDORA "'cmake(SQLiteCpp)'" CONDA sqlitecpp VCPKG sqlitecpp)
hgemm_library_of(yaml-cpp PACKAGE yaml-cpp LIBRARY yaml-cpp TARGETS yaml-cpp::yaml-cpp yaml-cpp
  INSTALL DEBIAN libyaml-cpp-dev FEDORA "'cmake(yaml-cpp)'" CONDA yaml-cpp VCPKG yaml-cpp)
