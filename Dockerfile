# The image for compose.yaml: Quoth with the embedding model, without torch, not as root.
# To pin the base image to exact bytes: docker build --build-arg PYTHON=python@sha256:… .
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /build
RUN python -m venv /opt/quoth
COPY requirements/cluster.lock requirements/
# The lock is complete and hashed; nothing else may be installed (see the Makefile).
RUN /opt/quoth/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/cluster.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY examples examples
RUN /opt/quoth/bin/pip install --no-cache-dir --no-deps .

FROM ${PYTHON}
RUN useradd --uid 10001 --no-create-home quoth && install -d -o quoth /data
COPY --from=build /opt/quoth /opt/quoth
# A number, so that a cluster that refuses root can check it.
USER 10001
WORKDIR /data
ENV PATH=/opt/quoth/bin:$PATH QUOTH_DATA_DIR=/data PYTHONDONTWRITEBYTECODE=1 ORT_DISABLE_TELEMETRY=1
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=6 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["quoth"]
CMD ["--help"]
