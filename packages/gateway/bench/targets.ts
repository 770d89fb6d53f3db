import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processTree } from "../../../bench/measure.ts";
import { nginxConfig, nginxProgram } from "./nginx.ts";
import { portkeyServer } from "./portkey.ts";
import { answering, nodeCommand, type Started, type Workshop } from "../../../bench/processes.ts";
import { freePort } from "../../../test/free-port.ts";
import type { Wire } from "./streams.ts";

/** Something between the clients and the upstream. */
export interface Target {
  name: string;
  title: string;
  /** What its clients speak. */
  wire: Wire;
  /** The byte pipe that it is measured by: the one that carries what its upstream sends. */
  floor: string;
  modelPrefix: string;
  headers(upstreamPort: number): Record<string, string>;
  /** Answers 200 as soon as it runs, and as soon as it serves where that is not the same. */
  health: string;
  ready?: string;
  /** Without it the bench goes on and says so. */
  optional?: boolean;
  /** The command; fails if it cannot be had on this machine. */
  command(place: Place): string[];
}

/** Where a target works: its folder, its port and that of its upstream. */
interface Place {
  folder: string;
  port: number;
  upstreamPort: number;
}

export interface RunningTarget {
  target: Target;
  started: Started;
  place: Place;
  pids: number[];
}

/** What Node's own server and client cost, with nothing between them. */
const pipe = {
  wire: "chat",
  floor: "pipe",
  modelPrefix: "",
  headers: () => ({}),
  health: "/healthz",
  command: bytePipe("node:http"),
} as const;

const ours = { modelPrefix: "up/", ready: "/readyz" };

export const targets: readonly Target[] = [
  { ...pipe, name: "pipe", title: "byte pipe, Chat" },
  {
    ...pipe,
    name: "pipe-responses",
    title: "byte pipe, Responses",
    wire: "responses",
    floor: "pipe-responses",
  },
  {
    ...pipe,
    name: "pipe-undici",
    title: "byte pipe over undici, Chat",
    command: bytePipe("undici"),
  },
  {
    ...pipe,
    name: "nginx",
    title: "nginx, Chat",
    optional: true,
    command({ folder, port, upstreamPort }) {
      const config = join(folder, "nginx.conf");
      const program = nginxProgram();
      writeFileSync(config, nginxConfig(folder, port, upstreamPort));
      return [program, "-p", folder, "-c", config];
    },
  },
  {
    ...pipe,
    name: "portkey",
    title: "Portkey, Chat → Chat",
    optional: true,
    health: "/",
    headers: (upstreamPort) => ({
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
    }),
    command: ({ port }) => [process.execPath, portkeyServer(), "--headless", `--port=${port}`],
  },
  {
    ...pipe,
    name: "chat",
    title: "deltawire, Chat → Chat",
    ...ours,
    command: gateway("chat"),
  },
  {
    ...pipe,
    name: "translate",
    title: "deltawire, Responses → Chat",
    wire: "responses",
    ...ours,
    command: gateway("chat"),
  },
  {
    ...pipe,
    name: "responses",
    title: "deltawire, Responses → Responses",
    wire: "responses",
    floor: "pipe-responses",
    ...ours,
    command: gateway("responses"),
  },
];

export async function startTarget(
  workshop: Workshop,
  target: Target,
  upstreamPort: number,
): Promise<RunningTarget> {
  const place = {
    folder: join(workshop.folder, target.name),
    port: await freePort(),
    upstreamPort,
  };
  mkdirSync(place.folder, { recursive: true });
  const started = workshop.start(target.name, target.command(place));
  await answering(started, place.port, target.health);
  return { target, started, place, pids: processTree(started.pid) };
}

function bytePipe(client: "node:http" | "undici"): Target["command"] {
  return ({ port, upstreamPort }) =>
    nodeCommand(import.meta.resolve("./byte-pipe.ts"), client, port, upstreamPort);
}

/** As a user would run it, with all its defaults: logs, limits and repairs are on. */
function gateway(speaks: Wire): Target["command"] {
  return ({ folder, port, upstreamPort }) => {
    const config = join(folder, "deltawire.toml");
    writeFileSync(
      config,
      `[server]
port = ${port}

[upstreams.up]
base_url = "http://127.0.0.1:${upstreamPort}/v1"
speaks = "${speaks}"
api_key = "bench-key-0123456789"
`,
    );
    return nodeCommand(import.meta.resolve("../src/main.ts"), "--config", config);
  };
}
