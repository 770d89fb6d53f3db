import { spawn, type ChildProcess } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../../../test/free-port.ts";
import type { AttackCase } from "../cases.ts";
import { send } from "../client.ts";

/* Machine failures: a full disk, too few file descriptors, a damaged lock. Each uses a separate gateway. */

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));
const fullDevice = "/dev/full";

interface Start {
  /** File descriptor of standard output and error. */
  stdout?: string;
  stderr?: string;
  /** A limit of the shell, such as `-n 64`. */
  limit?: string;
  /** Prepares the folder before the start. */
  prepare?(folder: string): void;
}

/** Starts a gateway with the demo model, runs `work`, and stops it. */
async function withGateway(
  start: Start,
  work: (url: string, child: ChildProcess) => Promise<string[]>,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-attack-"));
  const port = await freePort();
  writeFileSync(join(folder, "deltawire.toml"), `[server]\nport = ${port}\ndemo = true\n`);
  start.prepare?.(folder);
  const files: number[] = [];
  const output = (path: string | undefined): number | "ignore" => {
    if (path === undefined) return "ignore";
    files.push(openSync(path, "w"));
    return files.at(-1) ?? "ignore";
  };
  const command = [process.execPath, "--conditions=@deltawire/source", main, "serve"];
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  const [program = "", ...args] =
    start.limit === undefined
      ? command
      : ["sh", "-c", `ulimit ${start.limit}; exec "$@"`, "sh", ...command];
  const child = spawn(program, args, {
    cwd: folder,
    env: { HOME: folder, PATH, NODE_COMPILE_CACHE },
    stdio: ["ignore", output(start.stdout), output(start.stderr)],
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    for (let attempt = 0; ; attempt += 1) {
      const { status } = await send(url, {
        method: "GET",
        path: "/healthz",
        headers: { connection: "close" },
      });
      if (status === 200) break;
      if (child.exitCode !== null)
        return [`the gateway ended with ${child.exitCode} instead of starting`];
      if (attempt > 300) return ["the gateway did not start within 30 s"];
      await sleep(100);
    }
    const faults = await work(url, child);
    return child.exitCode === null
      ? faults
      : [...faults, `the gateway ended with ${child.exitCode}`];
  } finally {
    const exited = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await exited;
    }
    for (const file of files) closeSync(file);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Sends requests that are logged. Each must get a reply. */
async function sendLoggedRequests(url: string): Promise<string[]> {
  const faults: string[] = [];
  for (let times = 0; times < 20; times += 1) {
    const { status, reason } = await send(url, { method: "GET", path: "/v1/models" });
    if (status !== 200) faults.push(`a request received ${status} ${reason}`);
  }
  return faults;
}

/** Opens more connections than file descriptors are left, while requests come in. */
async function exhaustFileDescriptors(url: string): Promise<string[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  const faults: string[] = [];
  for (let index = 0; index < 200; index += 1) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    sockets.push(socket);
  }
  await sleep(300);
  for (const path of ["/", "/assets/x.js", "/v1/models", "/api/chats"]) {
    const reply = await send(url, { method: "GET", path, timeoutMs: 3000 });
    // The system may refuse the connection, but the gateway must not reply with a 500.
    if (reply.status === 500) faults.push(`GET ${path} returned 500: ${reply.text.slice(0, 300)}`);
  }
  for (const socket of sockets) socket.destroy();
  await sleep(300);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const { status } = await send(url, {
      method: "GET",
      path: "/healthz",
      headers: { connection: "close" },
    });
    if (status === 200) return faults;
    await sleep(200);
  }
  return [...faults, "no reply from /healthz after the connections were closed"];
}

export function createMachineCases(): AttackCase[] {
  const hasFullDevice = existsSync(fullDevice);
  const hasShell = process.platform !== "win32";
  return [
    ...(hasFullDevice
      ? [
          {
            name: "the disk of the log is full",
            alone: true,
            requests: 20,
            run: () => withGateway({ stderr: fullDevice }, sendLoggedRequests),
          },
          {
            name: "the disk of standard output is full at startup",
            alone: true,
            requests: 20,
            run: () => withGateway({ stdout: fullDevice }, sendLoggedRequests),
          },
          {
            name: "the disk of both outputs is full",
            alone: true,
            requests: 20,
            run: () => withGateway({ stdout: fullDevice, stderr: fullDevice }, sendLoggedRequests),
          },
        ]
      : []),
    ...(hasShell
      ? [
          {
            name: "no file descriptors are left",
            alone: true,
            requests: 10,
            run: () => withGateway({ limit: "-n 60" }, (url) => exhaustFileDescriptors(url)),
          },
        ]
      : []),
    ...["", "garbage", "\u0000".repeat(5000), "999999999999", "-1", "{}"].map(
      (content, index): AttackCase => ({
        name: `a damaged lock of the store, number ${index}`,
        requests: 1,
        run: () =>
          withGateway(
            {
              prepare(folder) {
                const data = join(folder, ".local", "share", "deltawire");
                mkdirSync(data, { recursive: true });
                writeFileSync(join(data, "deltawire.db-lock"), content);
              },
            },
            async (url) => {
              const { status, text } = await send(url, { method: "GET", path: "/api/tasks" });
              return status === 200
                ? []
                : [`GET /api/tasks returned ${status}: ${text.slice(0, 300)}`];
            },
          ),
      }),
    ),
  ];
}
