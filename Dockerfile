# The one image of Chaffinch: operator, router agent and load probe (three commands of one package).
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
# Dependencies first: they change rarely, and every one is pinned by hash.
COPY requirements/runtime.txt /build/
RUN python3 -m venv /opt/chaffinch && /opt/chaffinch/bin/pip install --quiet --require-hashes --requirement /build/runtime.txt
COPY operator/chaffinch /build/chaffinch/
RUN cp -r /build/chaffinch "$(/opt/chaffinch/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/chaffinch" \
    && /opt/chaffinch/bin/python -m compileall -q /opt/chaffinch/lib

FROM ${BASE}
COPY --from=build /opt/chaffinch /opt/chaffinch
ENV PATH=/opt/chaffinch/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/chaffinch/bin/python", "-m"]
CMD ["chaffinch"]
