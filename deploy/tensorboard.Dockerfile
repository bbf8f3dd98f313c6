# TensorBoard, from the Python package index, for the event files of experiments.
#
#   docker build --file deploy/tensorboard.Dockerfile --tag waggle-tensorboard deploy

ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ca-certificates python3-venv \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
# Version 81 of setuptools has no pkg_resources, which TensorBoard loads.
RUN python3 -m venv /opt/python \
    && /opt/python/bin/pip install --no-cache-dir 'tensorboard>=2.15,<3' 'setuptools<81'
# As in the other images: the first container that mounts the volume gives it its owner.
RUN groupadd --gid 10001 waggle \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin waggle \
    && mkdir /experiments \
    && chown waggle:waggle /experiments
USER 10001:10001
WORKDIR /tmp
STOPSIGNAL SIGTERM
EXPOSE 6006
ENTRYPOINT ["/opt/python/bin/tensorboard"]
CMD ["--logdir", "/experiments", "--bind_all", "--port", "6006"]
