import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../gateway/src/main.ts", import.meta.url));

export interface GatewayProcess {
  readonly url: string;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same port with the same data. */
  restart(): Promise<void>;
  /** Deletes its data folder. */
  deleteData(): void;
  /** Kills the process and deletes its folder. */
  close(): Promise<void>;
}

/** Starts a gateway with the demo model as a child process in a temporary folder. */
export async function startGatewayProcess(toml = ""): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-web-"));
  writeFileSync(join(folder, "deltawire.toml"), `[server]\ndemo = true\n${toml}`);
  let child: ChildProcess | undefined;
  const kill = async () => {
    const ended = child;
    child = undefined;
    if (ended === undefined || ended.exitCode !== null) return;
    const closed = new Promise<void>((resolve) => ended.once("close", () => resolve()));
    ended.kill("SIGKILL");
    await closed;
  };
  const start = async (port: string): Promise<string> => {
    const args = ["--conditions=@deltawire/source", main, "--json", "--port", port];
    const started = spawn(process.execPath, args, {
      cwd: folder,
      env: { HOME: folder, XDG_DATA_HOME: join(folder, "data"), PATH: process.env["PATH"] ?? "" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child = started;
    return new Promise((resolve, reject) => {
      let stderr = "";
      started.stderr.on("data", (piece) => (stderr += String(piece)));
      started.stdout.once("data", (line) =>
        resolve((JSON.parse(String(line)) as { url: string }).url),
      );
      started.once("close", (code) =>
        reject(new Error(`the gateway exited with ${code}: ${stderr}`)),
      );
    });
  };
  const close = async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  const { origin, port } = new URL(await start("0"));
  const deleteData = () => rmSync(join(folder, "data"), { recursive: true, force: true });
  return { url: origin, kill, deleteData, close, restart: async () => void (await start(port)) };
}
