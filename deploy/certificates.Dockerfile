# Makes the certificates of deploy/compose.yaml's processes, in volumes: certificates.sh with OpenSSL.
#
#   docker build --file deploy/certificates.Dockerfile --tag waggle-certificates deploy

ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends openssl \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY certificates.sh /usr/local/bin/
# As in the other images: the first container that mounts a volume gives it its owner. Each of the folders is a volume.
RUN groupadd --gid 10001 waggle \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin waggle \
    && mkdir --parents /certificates/hub /certificates/worker /certificates/admin /certificates/reader \
    && chown --recursive waggle:waggle /certificates
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["certificates.sh", "/certificates"]
