import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readRepositoryJson, root } from "../../../test/repository-files.ts";
import { parseCommandLine } from "../src/cli/parse-arguments.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { settingDefinitions } from "../src/config/setting-definitions.ts";
import { matchRoute } from "../src/http/routes.ts";

/*
 * The files for containers, as far as they can be checked without a container engine.
 */

const dockerfile = parseDockerfile(readText("Dockerfile"));
const compose = parse(readText("compose.yaml"), { merge: true }) as ComposeFile;
const haproxy = readText("deploy/haproxy.cfg");
const toml = readText("deploy/deltawire.toml");
const documents = parseAllDocuments(readText("deploy/kubernetes.yaml"));
const objects = documents.map((document) => document.toJS() as KubernetesObject);
const entrypoint = JSON.parse(findInstruction("ENTRYPOINT")) as string[];
const port = Number(findInstruction("EXPOSE"));

describe("the Dockerfile", () => {
  test("copies only files that exist, and the manifest of every package", () => {
    const sources = dockerfile
      .filter(({ name, text }) => name === "COPY" && !text.startsWith("--from="))
      .flatMap(({ text }) => text.split(" ").slice(0, -1));
    expect(sources.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const { packages } = readRepositoryJson<LockFile>("package-lock.json");
    const folders = Object.keys(packages).filter((path) => /^packages\/\w+$/.test(path));
    expect(sources.filter((path) => path.startsWith("packages/")).toSorted()).toEqual(
      folders.map((folder) => `${folder}/package.json`).toSorted(),
    );
  });

  test("includes the compiled gateway, all packages that it needs, and the page", () => {
    const copied = dockerfile.flatMap(
      ({ text }) => /^--from=build \/app\/(\S+)/.exec(text)?.[1] ?? [],
    );
    const compiled = listDependencies("deltawire").map((folder) => `${folder}/dist`);
    expect(copied.toSorted()).toEqual([...compiled, "packages/gateway/page"].toSorted());
  });

  test("runs the program of the package as an unprivileged user", () => {
    const { bin } = readRepositoryJson<{ bin: { deltawire: string } }>(
      "packages/gateway/package.json",
    );
    expect(join("packages/gateway", bin.deltawire)).toBe(entrypoint[1]);
    expect(existsSync(join(root, "packages/gateway/src/main.ts"))).toBe(true);
    const last = dockerfile.findLastIndex(({ name }) => name === "FROM");
    const users = dockerfile.slice(last).filter(({ name }) => name === "USER");
    expect(users.map(({ text }) => text)).toEqual(["node"]);
  });

  test("has a Node version that the packages accept", () => {
    const { engines } = readRepositoryJson<{ engines: { node: string } }>("package.json");
    const images = dockerfile.flatMap(({ text }) => /^(node:\d+)/.exec(text)?.[1] ?? []);
    expect(new Set(images)).toEqual(new Set([`node:${engines.node.replace(">=", "")}`]));
  });

  test("starts a gateway that other containers reach, on the port that it exposes", () => {
    expect(parseCommandLine(entrypoint.slice(2))).toMatchObject({
      name: "serve",
      flags: { host: "0.0.0.0", port: String(port) },
    });
  });

  test("checks the health at a public route of this port", () => {
    const [, url = ""] = /fetch\('([^']+)'\)/.exec(findInstruction("HEALTHCHECK")) ?? [];
    expect(new URL(url).port).toBe(String(port));
    expectProbeRoute(new URL(url).pathname);
  });

  test("copies no file with secrets: they are not in the build context", () => {
    const ignored = readText(".dockerignore").split("\n");
    expect(ignored).toEqual(expect.arrayContaining([".env", ".git", "**/node_modules", "**/dist"]));
  });
});

describe("the configuration for containers", () => {
  test("is valid, uses PostgreSQL and Redis, and requires a token", () => {
    const config = loadConfig(exampleEnvironment);
    expect(config.warnings).toEqual([]);
    expect(config.store.url).toBe(exampleEnvironment.DATABASE_URL);
    expect(config.bus.url).toBe(exampleEnvironment.REDIS_URL);
    expect(config.server.clients).toHaveLength(1);
    expect(() => loadConfig({ ...exampleEnvironment, DELTAWIRE_TOKEN: "" })).toThrow(
      "DELTAWIRE_TOKEN",
    );
  });

  test("stays valid if the commented-out upstream is enabled", () => {
    const text = toml.replace(/^# (?=\[|\w+ = )/gm, "");
    const config = loadConfig({ ...exampleEnvironment, OPENAI_API_KEY: "example-key" }, text);
    expect([...config.upstreams.keys()]).toEqual(["openai"]);
    expect(config.warnings).toEqual([]);
  });
});

describe("compose.yaml", () => {
  const gateways = Object.entries(compose.services).filter(
    ([, { image }]) => image === "deltawire",
  );

  test("starts two gateways with a command line and variables that they accept", () => {
    expect(gateways).toHaveLength(2);
    for (const [, { command = [], environment = {} }] of gateways) {
      expect(parseCommandLine([...entrypoint.slice(2), ...command])).toMatchObject({
        name: "serve",
        flags: { config: "/etc/deltawire/deltawire.toml" },
      });
      expect(Object.keys(environment).toSorted()).toEqual(listVariables(toml));
    }
  });

  test("contains no secret: they come from the environment", () => {
    const values = Object.values(compose.services).flatMap(({ environment = {} }) =>
      Object.entries(environment).filter(([name]) => /TOKEN|PASSWORD|DATABASE_URL/.test(name)),
    );
    expect(values).toHaveLength(5);
    expect(values.filter(([, value]) => !/\$\{\w+:\?/.test(value))).toEqual([]);
  });

  test("mounts files that exist, and volumes that it defines", () => {
    const sources = Object.values(compose.services)
      .flatMap(({ volumes = [] }) => volumes)
      .map((volume) => volume.split(":")[0] ?? "");
    const paths = sources.filter((source) => source.startsWith("."));
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const names = sources.filter((source) => !source.startsWith("."));
    expect(names).toEqual(Object.keys(compose.volumes));
  });

  test("waits for services that exist and have a health check", () => {
    const waits = Object.values(compose.services).flatMap(({ depends_on = {} }) =>
      Object.keys(depends_on),
    );
    expect(new Set(waits)).toEqual(new Set(["postgres", "redis", "gateway-1", "gateway-2"]));
    // The health check of the gateways is in the Dockerfile.
    for (const name of ["postgres", "redis"])
      expect(compose.services[name]?.healthcheck).toBeDefined();
  });

  test("gives a gateway more time to stop than it takes", () => {
    const { drainSeconds } = loadConfig(exampleEnvironment).server;
    for (const [, { stop_grace_period: period = "10s" }] of gateways)
      expect(Number.parseInt(period, 10)).toBeGreaterThanOrEqual(drainSeconds + 10);
  });

  test("distributes requests to all gateways that are ready", () => {
    const servers = [...haproxy.matchAll(/^ {2}server (\S+) (\S+)$/gm)];
    expect(servers.map(([, name, address]) => [name, address])).toEqual(
      gateways.map(([name]) => [name, `${name}:${port}`]),
    );
    expectProbeRoute(/option httpchk GET (\S+)/.exec(haproxy)?.[1]);
    const [, listening] = /bind :(\d+)/.exec(haproxy) ?? [];
    expect(compose.services["load-balancer"]?.ports).toEqual([`127.0.0.1:4141:${listening}`]);
  });

  test("does not cut streams off while a model is silent", () => {
    const setting = settingDefinitions.find(({ path }) => path.endsWith(".idle_timeout_seconds"));
    const timeouts = [...haproxy.matchAll(/timeout (?:client|server) (\d+)s/g)].map(([, s]) =>
      Number(s),
    );
    expect(timeouts).toHaveLength(2);
    for (const seconds of timeouts) expect(seconds).toBeGreaterThan(Number(setting?.default));
  });
});

describe("deploy/kubernetes.yaml", () => {
  const deployment = findObject("Deployment");
  const { template, strategy, selector, replicas } = deployment.spec as DeploymentSpec;
  const [container] = template.spec.containers;
  if (container === undefined) throw new Error("the Deployment has no container");

  test("is valid YAML and has the configuration of compose.yaml", () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    expect(findObject("ConfigMap").data).toEqual({ "deltawire.toml": toml });
  });

  test("passes a command line that the gateway accepts, with a file that is mounted", () => {
    const command = parseCommandLine([...entrypoint.slice(2), ...container.args]);
    expect(command).toMatchObject({ flags: { config: "/etc/deltawire/deltawire.toml" } });
    const mounts = container.volumeMounts.map(({ name, mountPath }) => [name, mountPath]);
    expect(mounts).toEqual([
      ["config", "/etc/deltawire"],
      ["data", entrypoint[entrypoint.indexOf("--data") + 1]],
    ]);
    expect(template.spec.volumes.map(({ name }) => name)).toEqual(mounts.map(([name]) => name));
  });

  test("sets every variable of the configuration from its Secret, which has placeholders", () => {
    const { stringData = {}, metadata } = findObject("Secret");
    expect(Object.keys(stringData).toSorted()).toEqual(listVariables(toml));
    expect(container.envFrom).toEqual([{ secretRef: { name: metadata.name } }]);
    for (const value of Object.values(stringData)) expect(value).toMatch(/REPLACE|PASSWORD/);
  });

  test("probes routes of the gateway: readiness may fail while it drains, liveness may not", () => {
    for (const probe of [
      container.readinessProbe,
      container.livenessProbe,
      container.startupProbe,
    ]) {
      expectProbeRoute(probe.httpGet.path);
      expect(probe.httpGet.port).toBe("http");
    }
    expect(container.readinessProbe.httpGet.path).toBe("/readyz");
    expect(container.livenessProbe.httpGet.path).toBe("/healthz");
    expect(container.ports).toEqual([{ name: "http", containerPort: port }]);
    expect(findObject("Service").spec).toMatchObject({ ports: [{ targetPort: "http" }] });
  });

  test("gives a gateway time to drain, and keeps the others running during an update", () => {
    const { drainSeconds } = loadConfig(exampleEnvironment).server;
    const [sleep, seconds] = container.lifecycle.preStop.exec.command;
    expect(sleep).toBe("sleep");
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
      Number(seconds) + drainSeconds + 10,
    );
    expect(strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
    expect(replicas).toBeGreaterThanOrEqual(2);
  });

  test("does not need more connections than PostgreSQL accepts by default, also during an update", () => {
    const { maxReplicas } = findObject("HorizontalPodAutoscaler").spec as { maxReplicas: number };
    const { maxConnections } = loadConfig(exampleEnvironment).store;
    const { minReadySeconds } = deployment.spec as DeploymentSpec;
    expect(minReadySeconds).toBeGreaterThanOrEqual(template.spec.terminationGracePeriodSeconds);
    // The surge, and the gateway that it replaces.
    const gateways = maxReplicas + strategy.rollingUpdate.maxSurge + 1;
    // Three of the 100 are reserved for superusers, and people need some for backups and psql.
    expect(gateways * (maxConnections + 2)).toBeLessThanOrEqual(90);
  });

  test("selects the pods by the labels that they have", () => {
    const { labels } = template.metadata;
    expect(selector.matchLabels).toEqual(labels);
    expect(findObject("Service").spec).toMatchObject({ selector: labels });
    expect(findObject("PodDisruptionBudget").spec).toMatchObject({
      selector: { matchLabels: labels },
    });
    expect(findObject("HorizontalPodAutoscaler").spec).toMatchObject({
      scaleTargetRef: { kind: "Deployment", name: deployment.metadata.name },
    });
  });

  test("runs without privileges, with a read-only file system", () => {
    expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(container.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
    });
  });
});

const exampleEnvironment = {
  DELTAWIRE_TOKEN: "0123456789abcdef0123456789abcdef",
  DATABASE_URL: "postgres://deltawire:password@postgres:5432/deltawire",
  REDIS_URL: "redis://redis:6379",
};

interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
}

interface ComposeService {
  image: string;
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  healthcheck?: object;
  stop_grace_period?: string;
  depends_on?: Record<string, object>;
}

interface KubernetesObject {
  kind: string;
  metadata: { name: string };
  spec: object;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

interface Probe {
  httpGet: { path: string; port: string };
}

interface DeploymentSpec {
  replicas: number;
  selector: { matchLabels: object };
  minReadySeconds: number;
  strategy: { rollingUpdate: { maxUnavailable: number; maxSurge: number } };
  template: {
    metadata: { labels: object };
    spec: {
      terminationGracePeriodSeconds: number;
      securityContext: object;
      volumes: { name: string }[];
      containers: {
        args: string[];
        envFrom: object[];
        ports: object[];
        volumeMounts: { name: string; mountPath: string }[];
        readinessProbe: Probe;
        livenessProbe: Probe;
        startupProbe: Probe;
        lifecycle: { preStop: { exec: { command: string[] } } };
        securityContext: object;
      }[];
    };
  };
}

interface LockFile {
  packages: Record<string, { name?: string; dependencies?: Record<string, string> }>;
}

function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function parseDockerfile(text: string): { name: string; text: string }[] {
  return text
    .replace(/^#.*\n/gm, "")
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .flatMap((line) => {
      const [, name, rest = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
      return name === undefined ? [] : [{ name, text: rest }];
    });
}

function findInstruction(name: string): string {
  const found = dockerfile.findLast((instruction) => instruction.name === name);
  if (found === undefined) throw new Error(`the Dockerfile has no ${name}`);
  return found.text;
}

function findObject(kind: string): KubernetesObject {
  const found = objects.find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`deploy/kubernetes.yaml has no ${kind}`);
  return found;
}

/** Returns the folders of a package of this repository and of all that it needs to run. */
function listDependencies(name: string): string[] {
  const { packages } = readRepositoryJson<LockFile>("package-lock.json");
  const found = new Map<string, string>();
  const add = (packageName: string): void => {
    const entry = Object.entries(packages).find(
      ([path, { name }]) => path.startsWith("packages/") && name === packageName,
    );
    if (entry === undefined || found.has(packageName)) return;
    found.set(packageName, entry[0]);
    Object.keys(entry[1].dependencies ?? {}).forEach(add);
  };
  add(name);
  return [...found.values()];
}

function loadConfig(env: Record<string, string>, text = toml) {
  const overrides = { host: "0.0.0.0", port };
  return parseConfig(text, { file: "deltawire.toml", env, overrides });
}

/** Returns the environment variables that a configuration uses, without those in comments. */
function listVariables(text: string): string[] {
  const lines = text.split("\n").filter((line) => !line.startsWith("#"));
  const names = lines.flatMap((line) => /"env:(\w+)"/.exec(line)?.[1] ?? []);
  return names.toSorted();
}

/** A probe sends no token. */
function expectProbeRoute(path: string | undefined): void {
  expect(matchRoute("GET", path ?? "")).toMatchObject({ type: "route", isPublic: true });
}
