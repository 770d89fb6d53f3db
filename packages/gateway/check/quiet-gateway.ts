import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseConfig } from "../src/config/parse-config.ts";
import { startGateway, type Gateway } from "../src/gateway.ts";

/** Starts a gateway on a free port. Its log is discarded. */
export async function startQuietGateway(toml: string): Promise<Gateway> {
  return startGateway({
    config: parseConfig(`[server]\nport = 0\n${toml}`, { file: "check.toml", env: {} }),
    env: {},
    dataFolder: undefined,
    logTarget: { write: () => undefined },
  });
}

/** Runs a Node script that writes to the output of this process. Resolves to its exit code. */
export async function runScript(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ["--conditions=@deltawire/source", ...args], {
    stdio: "inherit",
  });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}
