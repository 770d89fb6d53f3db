import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig, startGateway, type Gateway, type GatewayOptions } from "deltawire";
import { onTestFinished } from "vitest";

export interface TestGateway extends Gateway {
  /** Posts JSON to a path below `/v1`. */
  post(path: string, body: unknown): Promise<Response>;
}

export type StartOptions = Partial<
  Pick<GatewayOptions, "agents" | "storeRetryMs" | "hostEnvironment">
>;

/** Starts a gateway with its page in this process on a free port, without storing anything. */
export async function testGateway(toml: string, options: StartOptions = {}): Promise<TestGateway> {
  const text = toml.includes("[server]") ? toml : `[server]\nport = 0\n${toml}`;
  const gateway = await startGateway({
    config: parseConfig(text, { file: "deltawire.toml", env: {} }),
    env: {},
    dataFolder: undefined,
    logTarget: { write: () => undefined },
    ...options,
  });
  return {
    ...gateway,
    post: (path, body) =>
      fetch(`${gateway.url}/v1${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
  };
}

/** Returns the lines of deltawire.toml for an upstream. */
export function upstreamToml(
  name: string,
  url: string,
  overrides: Record<string, string | number | string[]> = {},
): string {
  const settings = { base_url: url, speaks: "chat", ...overrides };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[upstreams.${name}]\n${lines.join("\n")}\n`;
}

export interface GatewayProcess {
  url: string;
  child: ChildProcess;
  ended: Promise<unknown>;
}

/** Runs `deltawire` with this folder as working and home directory. The process is killed after the test. */
export async function gatewayProcess(cwd: string, port: number): Promise<GatewayProcess> {
  const main = join(import.meta.dirname, "..", "..", "gateway", "src", "main.ts");
  const args = ["--conditions=@deltawire/source", main, "--port", String(port)];
  const env = { HOME: cwd, PATH: process.env["PATH"] ?? "" };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stderr.on("data", (text) => (log += String(text)));
  const ended = once(child, "close");
  onTestFinished(() => void child.kill("SIGKILL"));
  const ready = new Promise<void>((resolve) => {
    child.stdout.on("data", (text) => String(text).includes(`:${port}`) && resolve());
  });
  const stopped = ended.then(([code]) => {
    throw new Error(`deltawire ended with ${String(code)}: ${log}`);
  });
  stopped.catch(() => undefined);
  await Promise.race([ready, stopped]);
  return { url: `http://127.0.0.1:${port}`, child, ended };
}

/** Creates a folder that is deleted after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
