import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listProcessTree } from "../../../bench/measure.ts";
import { buildNginxConfig, findNginx } from "./nginx.ts";
import { installPortkey } from "./portkey.ts";
import {
  waitUntilReady,
  buildNodeCommand,
  type StartedProcess,
  type BenchEnvironment,
} from "../../../bench/processes.ts";
import { freePort } from "../../../test/free-port.ts";
import type { Wire } from "./streams.ts";

/** A server between the clients and the upstream. */
export interface Target {
  name: string;
  title: string;
  /** The wire of its clients. */
  wire: Wire;
  /** The byte pipe that it is compared with, which carries the same upstream data. */
  floor: string;
  modelPrefix: string;
  headers(upstreamPort: number): Record<string, string>;
  /** Path that returns 200 once it runs; `ready` is the path for readiness, if there is another. */
  health: string;
  ready?: string;
  /** True if it is measured only with `--messages` or if it is named. */
  isMessages?: boolean;
  /** If it cannot be started, it is skipped with a note. */
  optional?: boolean;
  /** Returns the command. Throws if it is not available on this machine. */
  command(address: TargetAddress): string[];
}

/** The folder and the port of a target, and the port of its upstream. */
interface TargetAddress {
  folder: string;
  port: number;
  upstreamPort: number;
}

export interface RunningTarget {
  target: Target;
  started: StartedProcess;
  address: TargetAddress;
  pids: number[];
}

/** The cost of Node's own server and client. */
const pipe = {
  wire: "chat",
  floor: "pipe",
  modelPrefix: "",
  headers: () => ({}),
  health: "/healthz",
  command: createBytePipeCommand("node:http"),
} as const;

const gatewayDefaults = { modelPrefix: "up/", ready: "/readyz" };

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
    command: createBytePipeCommand("undici"),
  },
  {
    ...pipe,
    name: "nginx",
    title: "nginx, Chat",
    optional: true,
    command({ folder, port, upstreamPort }) {
      const config = join(folder, "nginx.conf");
      const program = findNginx();
      writeFileSync(config, buildNginxConfig(folder, port, upstreamPort));
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
    command: ({ port }) => [process.execPath, installPortkey(), "--headless", `--port=${port}`],
  },
  {
    ...pipe,
    name: "chat",
    title: "deltawire, Chat → Chat",
    ...gatewayDefaults,
    command: createGatewayCommand("chat"),
  },
  {
    ...pipe,
    name: "translate",
    title: "deltawire, Responses → Chat",
    wire: "responses",
    ...gatewayDefaults,
    command: createGatewayCommand("chat"),
  },
  {
    ...pipe,
    name: "responses",
    title: "deltawire, Responses → Responses",
    wire: "responses",
    floor: "pipe-responses",
    ...gatewayDefaults,
    command: createGatewayCommand("responses"),
  },
  {
    ...pipe,
    name: "pipe-messages",
    title: "byte pipe, Messages",
    wire: "messages",
    floor: "pipe-messages",
    isMessages: true,
  },
  createMessagesTarget("messages-chat", "messages", "chat"),
  createMessagesTarget("messages-responses", "messages", "responses"),
  createMessagesTarget("messages", "messages", "messages"),
  createMessagesTarget("responses-messages", "responses", "messages"),
  createMessagesTarget("chat-messages", "chat", "messages"),
];

/** A gateway whose clients or upstream use the Messages API. */
function createMessagesTarget(name: string, wire: Wire, speaks: Wire): Target {
  const titles = { chat: "Chat", responses: "Responses", messages: "Messages" };
  return {
    ...pipe,
    name,
    title: `deltawire, ${titles[wire]} → ${titles[speaks]}`,
    wire,
    floor: speaks === "chat" ? "pipe" : `pipe-${speaks}`,
    isMessages: true,
    modelPrefix: "up/",
    ready: "/readyz",
    command: createGatewayCommand(speaks),
  };
}

export async function startTarget(
  environment: BenchEnvironment,
  target: Target,
  upstreamPort: number,
): Promise<RunningTarget> {
  const address = {
    folder: join(environment.folder, target.name),
    port: await freePort(),
    upstreamPort,
  };
  mkdirSync(address.folder, { recursive: true });
  const started = environment.start(target.name, target.command(address));
  await waitUntilReady(started, address.port, target.health);
  return { target, started, address, pids: listProcessTree(started.pid) };
}

function createBytePipeCommand(client: "node:http" | "undici"): Target["command"] {
  return ({ port, upstreamPort }) =>
    buildNodeCommand(import.meta.resolve("./byte-pipe.ts"), client, port, upstreamPort);
}

/** With all defaults: logs, limits and repairs are on. */
function createGatewayCommand(speaks: Wire): Target["command"] {
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
    const data = join(folder, "data");
    return buildNodeCommand(
      import.meta.resolve("../src/main.ts"),
      "--config",
      config,
      "--data",
      data,
    );
  };
}
