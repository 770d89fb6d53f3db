# Not tested with a Docker engine. packages/gateway/test/deployment.test.ts checks paths, port, command and health check, and
# docs/scaling.md says which of these steps were run without Docker.
#
#   docker build -t deltawire .
#   docker run -p 127.0.0.1:4141:4141 -e DELTAWIRE_TOKEN=$(openssl rand -hex 24) -v deltawire:/data deltawire

FROM node:24-slim AS manifests
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY packages/agent/package.json packages/agent/
COPY packages/demo/package.json packages/demo/
COPY packages/gateway/package.json packages/gateway/
COPY packages/store/package.json packages/store/
COPY packages/tasks/package.json packages/tasks/
COPY packages/web/package.json packages/web/
COPY packages/wire/package.json packages/wire/

FROM manifests AS build
RUN npm ci --ignore-scripts
COPY . .
RUN node_modules/.bin/tsc -b packages/gateway
RUN node --conditions=@deltawire/source scripts/build-page.ts

FROM manifests AS dependencies
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production TMPDIR=/data
WORKDIR /app
COPY --from=dependencies /app ./
COPY --from=build /app/packages/wire/dist packages/wire/dist
COPY --from=build /app/packages/tasks/dist packages/tasks/dist
COPY --from=build /app/packages/agent/dist packages/agent/dist
COPY --from=build /app/packages/store/dist packages/store/dist
COPY --from=build /app/packages/demo/dist packages/demo/dist
COPY --from=build /app/packages/gateway/dist packages/gateway/dist
COPY --from=build /app/packages/gateway/page packages/gateway/page
# For the sealing key, a SQLite store and temporary files. With PostgreSQL, nothing in it needs to be preserved.
RUN mkdir /data && chown node:node /data
USER node
EXPOSE 4141
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4141/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# A configuration file can be mounted and passed as --config FILE. Without one, DELTAWIRE_TOKEN must be set.
ENTRYPOINT ["node", "packages/gateway/dist/main.js", "--host", "0.0.0.0", "--port", "4141", "--data", "/data", "--json"]
