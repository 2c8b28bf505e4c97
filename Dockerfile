# What compose.yaml runs: Quoth with the embedding model and the client for Qdrant, without torch, not as root.
FROM python:3.11-slim AS build
WORKDIR /build
RUN python -m venv /opt/quoth
COPY requirements/cluster.lock requirements/
# The lock is complete and hashed; nothing else may come in (see the Makefile).
RUN /opt/quoth/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/cluster.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY examples examples
RUN /opt/quoth/bin/pip install --no-cache-dir --no-deps .

FROM python:3.11-slim
RUN useradd --uid 10001 --no-create-home quoth && install -d -o quoth /data
COPY --from=build /opt/quoth /opt/quoth
USER quoth
WORKDIR /data
ENV PATH=/opt/quoth/bin:$PATH QUOTH_DATA_DIR=/data PYTHONDONTWRITEBYTECODE=1
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["quoth"]
CMD ["--help"]
