# The one image of Chaffinch: operator, router agent and load probe (three commands of one package).
ARG BASE=python:3.13-slim-bookworm

# Dependencies: they change rarely, and every one is pinned by hash.
FROM ${BASE} AS dependencies
COPY requirements/runtime.txt /build/
RUN python3 -m venv /opt/chaffinch && /opt/chaffinch/bin/pip install --quiet --require-hashes --requirement /build/runtime.txt

FROM dependencies AS source
COPY operator/chaffinch /opt/source/chaffinch/
RUN /opt/chaffinch/bin/python -m compileall -q /opt/source

FROM ${BASE}
COPY --from=dependencies /opt/chaffinch /opt/chaffinch
COPY --from=source /opt/source /opt/source
ENV PATH=/opt/chaffinch/bin:$PATH PYTHONPATH=/opt/source PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/chaffinch/bin/python", "-m"]
CMD ["chaffinch"]
