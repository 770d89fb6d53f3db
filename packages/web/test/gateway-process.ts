import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../gateway/src/main.ts", import.meta.url));

export interface GatewayProcess {
  readonly url: string;
  /** As a power cut does it. */
  kill(): Promise<void>;
  /** At the same address, with what was kept. */
  restart(): Promise<void>;
  /** Everything that it has kept. */
  forget(): void;
  /** With its folder. */
  close(): Promise<void>;
}

/** A gateway with the demo model, as a user starts it, in a folder of its own. */
export async function startGatewayProcess(toml = ""): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-web-"));
  writeFileSync(join(folder, "deltawire.toml"), `[server]\ndemo = true\n${toml}`);
  let child: ChildProcess | undefined;
  const kill = async () => {
    const ended = child;
    child = undefined;
    if (ended === undefined || ended.exitCode !== null) return;
    const gone = new Promise<void>((resolve) => ended.once("close", () => resolve()));
    ended.kill("SIGKILL");
    await gone;
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
      let said = "";
      started.stderr.on("data", (piece) => (said += String(piece)));
      started.stdout.once("data", (line) =>
        resolve((JSON.parse(String(line)) as { url: string }).url),
      );
      started.once("close", (code) => reject(new Error(`it ended with ${code}: ${said}`)));
    });
  };
  const close = async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  const { origin, port } = new URL(await start("0"));
  const forget = () => rmSync(join(folder, "data"), { recursive: true, force: true });
  return { url: origin, kill, forget, close, restart: async () => void (await start(port)) };
}
