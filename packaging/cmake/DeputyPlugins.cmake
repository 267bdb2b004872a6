# The in-tree plugins: a project of its own that sees the SDK only as a vendor does, installed into a folder. Built
# into the same place of the build tree as they have when installed.
include(ExternalProject)

set(DEPUTY_SDK_STAGE ${CMAKE_BINARY_DIR}/sdk-stage)
set(DEPUTY_PLUGIN_DIR ${CMAKE_BINARY_DIR}/${DEPUTY_PRIVATE_DIR}/plugins)

file(GLOB_RECURSE sdk_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sdk/include/* ${PROJECT_SOURCE_DIR}/sdk/cmake/*
     ${PROJECT_SOURCE_DIR}/sdk/schema/*)
add_custom_command(
  OUTPUT ${DEPUTY_SDK_STAGE}/.staged
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${DEPUTY_SDK_STAGE}
  COMMAND ${CMAKE_COMMAND} -DCMAKE_INSTALL_COMPONENT=sdk -DCMAKE_INSTALL_PREFIX=${DEPUTY_SDK_STAGE} -DDEPUTY_STAGING=ON
          -P ${CMAKE_BINARY_DIR}/cmake_install.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${DEPUTY_SDK_STAGE}/.staged
  DEPENDS ${sdk_files}
  COMMENT "Staging the SDK"
  VERBATIM)
add_custom_target(deputy_sdk_stage DEPENDS ${DEPUTY_SDK_STAGE}/.staged)

set(DEPUTY_PLUGINS "" CACHE STRING "Folders of plugins/ to build; empty for all")
set(DEPUTY_OPENVINO_DIR ""
    CACHE PATH "Where packaging/guests.sh or pip have put openvino, for plugins/openvino; empty: OpenVINO_DIR or the system's")
set(OpenVINO_DIR "" CACHE PATH "The folder of OpenVINOConfig.cmake, for plugins/openvino")
set(cross_args "")
if(CMAKE_TOOLCHAIN_FILE)
  list(APPEND cross_args -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE} -DDEPUTY_SYSROOT=${DEPUTY_SYSROOT})
endif()
set(guest_args "")
if(DEPUTY_OPENVINO_DIR)
  list(APPEND guest_args -DDEPUTY_OPENVINO_DIR=${DEPUTY_OPENVINO_DIR})
endif()
if(OpenVINO_DIR)
  list(APPEND guest_args -DOpenVINO_DIR=${OpenVINO_DIR})
endif()
list(JOIN DEPUTY_PLUGINS "|" plugins_joined)

list(JOIN DEPUTY_SANITIZER_OPTIONS " " sanitizer_flags)
ExternalProject_Add(
  deputy_plugins
  SOURCE_DIR ${PROJECT_SOURCE_DIR}/plugins
  BINARY_DIR ${CMAKE_BINARY_DIR}/plugins-build
  STAMP_DIR ${CMAKE_BINARY_DIR}/plugins-stamp
  TMP_DIR ${CMAKE_BINARY_DIR}/plugins-stamp
  DEPENDS deputy_sdk_stage
  LIST_SEPARATOR |
  CMAKE_ARGS -DDeputySDK_DIR=${DEPUTY_SDK_STAGE}/${CMAKE_INSTALL_LIBDIR}/cmake/DeputySDK
             -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}
             -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
             -DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}
             -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
             -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
             -DCMAKE_UNITY_BUILD=${CMAKE_UNITY_BUILD}
             -DCMAKE_UNITY_BUILD_BATCH_SIZE=${CMAKE_UNITY_BUILD_BATCH_SIZE}
             -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${DEPUTY_PLUGIN_DIR}
             -DDEPUTY_PLUGINS=${plugins_joined}
             ${cross_args}
             ${guest_args}
             "-DCMAKE_C_FLAGS_RELWITHDEBINFO=${CMAKE_C_FLAGS_RELWITHDEBINFO}"
             "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=${CMAKE_CXX_FLAGS_RELWITHDEBINFO}"
             "-DCMAKE_C_FLAGS=${CMAKE_C_FLAGS} ${sanitizer_flags}"
             "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS} ${sanitizer_flags}"
  BUILD_ALWAYS ON
  INSTALL_COMMAND ${CMAKE_COMMAND} -DFOLDER=${DEPUTY_PLUGIN_DIR} -P ${CMAKE_CURRENT_LIST_DIR}/DeputyLock.cmake)

install(DIRECTORY ${DEPUTY_PLUGIN_DIR} DESTINATION ${DEPUTY_PRIVATE_DIR} USE_SOURCE_PERMISSIONS)
