import { spawn } from "node:child_process";
import { once } from "node:events";
import { readConfig } from "../src/config/read.ts";
import { startGateway, type Gateway } from "../src/gateway.ts";

/** A gateway on a free port, whose log is thrown away. */
export async function checkedGateway(toml: string): Promise<Gateway> {
  return startGateway({
    config: readConfig(`[server]\nport = 0\n${toml}`, { file: "check.toml", env: {} }),
    env: {},
    dataFolder: undefined,
    logTo: { write: () => undefined },
  });
}

/** Runs a script of Node that writes to our own output, and answers its exit code. */
export async function runScript(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ["--conditions=@deltawire/source", ...args], {
    stdio: "inherit",
  });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}
