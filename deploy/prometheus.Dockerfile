# Prometheus, from Debian, with Waggle's configuration and alerts.
#
#   docker build --file deploy/prometheus.Dockerfile --tag waggle-prometheus deploy

ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends prometheus \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY prometheus/prometheus.yml prometheus/alerts.yml /etc/waggle/
# The same for processes without certificates.
RUN sed '/scheme: https/,/server_name:/d' /etc/waggle/prometheus.yml > /etc/waggle/plain.yml
# As in the other images: the first container that mounts the volume gives it its owner.
RUN groupadd --gid 10001 waggle \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin waggle \
    && mkdir --parents /prometheus \
    && chown waggle:waggle /prometheus
USER 10001:10001
WORKDIR /tmp
STOPSIGNAL SIGTERM
EXPOSE 9090
ENTRYPOINT ["/usr/bin/prometheus"]
CMD ["--config.file=/etc/waggle/prometheus.yml", "--storage.tsdb.path=/prometheus", "--web.listen-address=0.0.0.0:9090"]
