# The outbox worker: docker build -t pm-outbox .
#
# Everything comes from requirements.lock by hash; what only development needs stays out. pip
# asks whatever registry it is set up for.
ARG PYTHON_VERSION=3.13

FROM python:${PYTHON_VERSION}-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY tools/locked tools/locked
COPY requirements.lock .
# Two environments: what builds the package is not in the one that is shipped.
RUN python tools/locked pm-outbox <requirements.lock >runtime.lock \
    && python tools/locked hatchling <requirements.lock >backend.lock \
    && python -m venv /opt/pm-outbox \
    && /opt/pm-outbox/bin/pip install --require-hashes --no-deps --requirement runtime.lock \
    && python -m venv /opt/backend \
    && /opt/backend/bin/pip install --require-hashes --no-deps --requirement backend.lock
COPY pyproject.toml README.md LICENSE ./
COPY migrations migrations
COPY src src
RUN /opt/backend/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/pm-outbox/bin/pip install --no-index --no-deps dist/*.whl \
    && /opt/pm-outbox/bin/pip uninstall --yes pip

FROM python:${PYTHON_VERSION}-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin outbox
COPY --from=build /opt/pm-outbox /opt/pm-outbox
ENV PATH=/opt/pm-outbox/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
# TigerBeetle's client needs io_uring, which the default seccomp profile of Docker refuses:
# run it with --security-opt seccomp=ops/seccomp.json (see docs/running.md).
ENTRYPOINT ["outbox-worker"]
CMD ["run"]
