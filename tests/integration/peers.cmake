# Tests beside other engines: the LiteRT interpreter and ONNX Runtime, where a Python has them. packaging/peers.sh makes one.
set(DEPUTY_PEERS_PYTHON ${PROJECT_SOURCE_DIR}/build/peers/bin/python
    CACHE FILEPATH "A Python with ai-edge-litert, onnx, onnxruntime and numpy")
function(deputy_peer_test name script)
  add_test(NAME integration.${name}
           COMMAND sh -c [[test -x "$0" && exec "$0" "$@"; exec python3 "$@"]] ${DEPUTY_PEERS_PYTHON}
                   ${CMAKE_CURRENT_SOURCE_DIR}/${script} --deputy $<TARGET_FILE:deputy_cli> ${ARGN})
  set_tests_properties(integration.${name} PROPERTIES LABELS integration SKIP_RETURN_CODE 77 TIMEOUT 900)
endfunction()
deputy_peer_test(microsoft_operators microsoft_operators_test.py)
deputy_peer_test(ml_operators ml_operators_test.py)
deputy_peer_test(experimental_operators experimental_operators_test.py)
add_test(NAME integration.definitions
         COMMAND sh -c [[test -x "$0" && exec "$0" "$@"; exec python3 "$@"]] ${DEPUTY_PEERS_PYTHON}
                 ${CMAKE_CURRENT_SOURCE_DIR}/definitions_test.py --schema ${PROJECT_SOURCE_DIR}/sdk/schema
                 --importer ${PROJECT_SOURCE_DIR}/host/import/onnx)
set_tests_properties(integration.definitions PROPERTIES LABELS integration SKIP_RETURN_CODE 77)
deputy_peer_test(fixed_extents fixed_extents_test.py)
deputy_peer_test(onnx_package onnx_package_test.py)
if(DEPUTY_BUILD_PLUGINS AND NOT DEPUTY_SANITIZE)
  get_property(ort_ep_directory GLOBAL PROPERTY DEPUTY_FIXTURE_ORT_EP_DIR)
  foreach(what OwnProvider MisbehavingProvider Guests)
    deputy_peer_test(onnxruntime.${what} onnxruntime_test.py --guests ${PROJECT_SOURCE_DIR}/build/guests --fixtures
                     ${ort_ep_directory} ${what})
  endforeach()
  deputy_peer_test(ort_ep ort_ep_test.py --fixture $<TARGET_FILE:fixture_ort_ep>)
  deputy_peer_test(trace trace_test.py --digits ${PROJECT_SOURCE_DIR}/configs/digits/digits.onnx)
endif()
# Deputy in ONNX Runtime, whose library is not built with a sanitizer.
if(DEPUTY_BUILD_PLUGINS AND NOT DEPUTY_SANITIZE)
  add_executable(onnxruntime_ep_host onnxruntime_ep_host.cpp)
  target_compile_options(onnxruntime_ep_host PRIVATE ${DEPUTY_WARNINGS})
  target_include_directories(onnxruntime_ep_host PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(onnxruntime_ep_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  foreach(what RealModels Conformance Devices Graphs Faults Threads Library Documents Cpp)
    set(script onnxruntime_ep_test.py)
    if(what MATCHES "RealModels|Conformance")
      set(script onnxruntime_ep_models_test.py)
    endif()
    deputy_peer_test(onnxruntime_ep.${what} ${script} --library $<TARGET_FILE:deputy_ort_ep> --plugins
                     ${DEPUTY_PLUGIN_DIR} --fixtures ${fixture_directory} --data ${DEPUTY_TEST_DATA} --document
                     ${PROJECT_SOURCE_DIR}/host/docs/in-other-hosts.md --host $<TARGET_FILE:onnxruntime_ep_host> ${what})
  endforeach()
endif()
deputy_peer_test(tflite_custom tflite_custom_test.py --fixtures ${fixture_directory})
if(NOT DEPUTY_SANITIZE)
  foreach(what RealModels Operators States Networks)
    deputy_peer_test(tflite.${what} tflite_test.py --data ${DEPUTY_TEST_DATA} ${what})
  endforeach()
endif()
if(TARGET deputy_tflite AND NOT DEPUTY_SANITIZE)
  deputy_peer_test(tflite_delegate tflite_delegate_test.py --library $<TARGET_FILE:deputy_tflite>
                   --fixtures ${fixture_directory} --data ${DEPUTY_TEST_DATA})
  deputy_peer_test(tflite_external tflite_external_test.py --library $<TARGET_FILE:deputy_tflite>
                   --fixtures ${fixture_directory} --data ${DEPUTY_TEST_DATA} --vendor $<TARGET_FILE:vendor_delegate>)
endif()
if(DEPUTY_BUILD_PLUGINS AND NOT DEPUTY_SANITIZE)
  deputy_peer_test(architectures architectures_test.py --seeds 0:300)
  deputy_peer_test(architectures_openvino architectures_test.py --seeds 0:300 --config openvino --plugins ${plugin_directory})
  set_tests_properties(
    integration.architectures_openvino
    PROPERTIES ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${DEPUTY_OPENVINO_DIR}/openvino/libs")
  deputy_peer_test(architectures_verified architectures_test.py --verify --seeds 100:140)
  # Quantized networks on a processor that adds products of 8-bit integers in 16 bits.
  deputy_peer_test(architectures_without_vnni architectures_test.py --seeds 15:36:4 --config onednn)
  set_tests_properties(integration.architectures_without_vnni PROPERTIES ENVIRONMENT ONEDNN_MAX_CPU_ISA=AVX2)
endif()

