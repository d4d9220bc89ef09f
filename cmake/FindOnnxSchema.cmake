# Finds onnx-ml.proto of the `onnx` Python package (never a copied schema) and
# sets ONNX_PROTO_FILE. Set ONNX_PROTO_DIR to use another folder that holds it.
set(ONNX_PROTO_DIR "" CACHE PATH "Folder that holds onnx-ml.proto")
if(NOT ONNX_PROTO_DIR)
  file(GLOB candidates
       "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/onnx")
  find_program(FORETELL_PYTHON python3)
  if(FORETELL_PYTHON)
    execute_process(
      COMMAND
        ${FORETELL_PYTHON} -c
        "import importlib.util as u; s = u.find_spec('onnx'); print(s.submodule_search_locations[0] if s else '')"
      OUTPUT_VARIABLE python_onnx_dir
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND candidates ${python_onnx_dir})
  endif()
  list(APPEND candidates /usr/include/onnx)
  foreach(candidate IN LISTS candidates)
    if(EXISTS "${candidate}/onnx-ml.proto")
      set(ONNX_PROTO_DIR "${candidate}" CACHE PATH "" FORCE)
      break()
    endif()
  endforeach()
endif()
if(NOT EXISTS "${ONNX_PROTO_DIR}/onnx-ml.proto")
  message(FATAL_ERROR "onnx-ml.proto not found: pip install onnx==1.23.0, or "
                      "set ONNX_PROTO_DIR")
endif()
set(ONNX_PROTO_FILE "${ONNX_PROTO_DIR}/onnx-ml.proto")
