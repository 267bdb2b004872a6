# deputy_add_delegate(<name>
#   SOURCES <file>...             sources; one of them holds DEPUTY_EXPORT_DELEGATE
#   [ID <id>]                     of the plugin, reverse domain ("com.example.npu"); default: <name>
#   [VERSION <version>]           of the plugin; default: PROJECT_VERSION
#   [VENDOR <text>]
#   [DELEGATES <id>...]           as exported; default: <name>
#   [LINK <library>...] [DEFINES <NAME[=value]>...]
#   [RUNTIME_FILES <file>...]     vendor libraries and firmware that must travel with the plugin; copied beside it;
#                                 relative to the current source directory
#   [ENVIRONMENT <NAME=VALUE>...] wanted in the host's environment before the plugin is loaded
#   [CPU <feature>...]            CPU features needed anywhere in the code, as in /proc/cpuinfo
#   [DEVICES <name>...]           files of the accelerator's driver below /dev, wildcards allowed ("nvidia*"): a worker
#                                 process in a sandbox opens no others
#   [OUTPUT_DIRECTORY <dir>])     default: CMAKE_LIBRARY_OUTPUT_DIRECTORY, else the current binary directory
#
# Makes the module <name>.so with hidden visibility, one exported symbol and the manifest note.
set(_DEPUTY_SDK_PACKAGE_DIR ${CMAKE_CURRENT_LIST_DIR})

function(deputy_add_delegate name)
  set(one ID VERSION VENDOR OUTPUT_DIRECTORY)
  set(many SOURCES DELEGATES LINK DEFINES RUNTIME_FILES ENVIRONMENT CPU DEVICES)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "${one}" "${many}")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "deputy_add_delegate(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "deputy_add_delegate(${name}): SOURCES are missing")
  endif()
  if(NOT ARG_ID)
    set(ARG_ID ${name})
  endif()
  if(NOT ARG_VERSION)
    set(ARG_VERSION ${PROJECT_VERSION})
  endif()
  if(NOT ARG_DELEGATES)
    set(ARG_DELEGATES ${name})
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()

  set(files "")
  set(runtime_files "")
  foreach(file IN LISTS ARG_RUNTIME_FILES)
    if(file MATCHES "\\$<")
      message(FATAL_ERROR "deputy_add_delegate(${name}): RUNTIME_FILES are paths, since the note names them: ${file}")
    endif()
    cmake_path(GET file FILENAME file_name)
    list(APPEND files ${file_name})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND runtime_files ${file})
  endforeach()
  _deputy_note_lines(lines "id=${ARG_ID}" "version=${ARG_VERSION}")
  foreach(key_list IN ITEMS delegates:ARG_DELEGATES cpu:ARG_CPU files:files devices:ARG_DEVICES)
    string(REPLACE ":" ";" key_list ${key_list})
    list(GET key_list 0 key)
    list(GET key_list 1 variable)
    if(${variable})
      list(JOIN ${variable} "," joined)
      _deputy_note_lines(lines "${key}=${joined}")
    endif()
  endforeach()
  foreach(wish IN LISTS ARG_ENVIRONMENT)
    _deputy_note_lines(lines "env=${wish}")
  endforeach()
  set(DEPUTY_NOTE_PLUGIN ${name})
  set(DEPUTY_NOTE_LINES ${lines})
  # In the project's language: the manifest alone does not require another compiler.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(CXX IN_LIST languages)
    set(note ${CMAKE_CURRENT_BINARY_DIR}/${name}_note.cpp)
  else()
    set(note ${CMAKE_CURRENT_BINARY_DIR}/${name}_note.c)
  endif()
  configure_file(${_DEPUTY_SDK_PACKAGE_DIR}/note.cpp.in ${note} @ONLY)

  add_library(${name} MODULE ${ARG_SOURCES} ${note})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY}
               BUILD_RPATH "$ORIGIN"
               INSTALL_RPATH "$ORIGIN"
               LINK_DEPENDS ${_DEPUTY_SDK_PACKAGE_DIR}/exports.map)
  target_compile_definitions(
    ${name} PRIVATE ${ARG_DEFINES} DEPUTY_PLUGIN_ID="${ARG_ID}" DEPUTY_PLUGIN_VERSION="${ARG_VERSION}"
                    DEPUTY_PLUGIN_VENDOR="${ARG_VENDOR}")
  target_link_libraries(${name} PRIVATE Deputy::SDK ${ARG_LINK})
  # Loaded once and never unloaded (nodelete): static destructors and threads make unloading unsafe.
  target_link_options(
    ${name} PRIVATE "LINKER:--version-script=${_DEPUTY_SDK_PACKAGE_DIR}/exports.map" "LINKER:--exclude-libs,ALL"
    "LINKER:-z,now" "LINKER:-z,relro" "LINKER:-z,nodelete")
  # clang's sanitizers live in the executable, so that their symbols are legitimately undefined in a plugin.
  get_directory_property(flags COMPILE_OPTIONS)
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND "${flags} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize"))
    target_link_options(${name} PRIVATE "LINKER:-z,defs")
  endif()
  foreach(file IN LISTS runtime_files)
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy_if_different ${file}
                                                         $<TARGET_FILE_DIR:${name}>)
  endforeach()
endfunction()

# Appends each line to `variable` as a C string literal.
function(_deputy_note_lines variable)
  set(lines "${${variable}}")
  foreach(line IN LISTS ARGN)
    if(line MATCHES "\n")
      message(FATAL_ERROR "deputy_add_delegate: a line of the manifest may not hold a line break: ${line}")
    endif()
    string(REPLACE "\\" "\\\\" line "${line}")
    string(REPLACE "\"" "\\\"" line "${line}")
    string(APPEND lines "\n    \"${line}\\n\"")
  endforeach()
  set(${variable} "${lines}" PARENT_SCOPE)
endfunction()
