# mint-envs serve, in the slim Python image:  docker build -t mint-envs .
# The same steps, without a container engine: tests/fresh_root.sh
FROM python:3.13-slim

# For programs in other languages: --build-arg PACKAGES='g++ nodejs'. Python needs nothing more.
ARG PACKAGES=""
RUN if [ -n "$PACKAGES" ]; then \
      apt-get update && apt-get install -y --no-install-recommends $PACKAGES && \
      rm -rf /var/lib/apt/lists/*; \
    fi

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY mint_envs mint_envs
COPY trainers trainers
RUN python -m pip install --no-cache-dir '.[serve,math]' && rm -rf /src

RUN useradd --create-home mint
USER mint
WORKDIR /home/mint

EXPOSE 8421
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s CMD \
  ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8421/readyz')"]
# The token comes as MINT_SERVE_TOKEN, or as a file; without one the server does not start here.
ENTRYPOINT ["mint-envs", "serve", "--host", "0.0.0.0"]
CMD ["--unready-seconds", "5"]
