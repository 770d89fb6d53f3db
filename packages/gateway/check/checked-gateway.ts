import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
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

/** A port on which nobody listens at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Runs a script of Node that writes to our own output, and answers its exit code. */
export async function runScript(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ["--conditions=@deltawire/source", ...args], {
    stdio: "inherit",
  });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}
