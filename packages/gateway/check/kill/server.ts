/*
 * The server that is killed: a gateway in a separate process, with agents defined in code. Its parent sends it one
 * `ServerPlan` and receives its URL. If the plan has a crash point, the server kills itself when it writes there.
 */
import { writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import type { Store } from "@deltawire/store";
import { parseConfig } from "../../src/config/parse-config.ts";
import { startGateway } from "../../src/gateway.ts";
import { upstreamToml } from "../../test/test-gateway.ts";
import { createAgents } from "./agents.ts";
import { createCrashingStore, type CrashPoint } from "./crashing-store.ts";

export interface ServerPlan {
  /** The name of the run at the counter. */
  run: string;
  folder: string;
  /** A module that exports `openStore`. */
  store: string;
  counter: string;
  upstream: string;
  crashPoint: CrashPoint | undefined;
}

export type ServerMessage = { ready: true } | { url: string };

/** The exports of a store module. */
export interface StoreModule {
  openStore(options: { folder: string }): Promise<Store>;
}

/** A file in the folder of a run, with the kind of write at which the server killed itself. */
export const crashReportFile = "killed-at.txt";

if (import.meta.main) {
  const sendToParent = (message: ServerMessage): void => void process.send?.(message);
  process.on("disconnect", () => process.exit(0));
  process.once(
    "message",
    (plan: ServerPlan) => void serve(plan).then((url) => sendToParent({ url })),
  );
  // A process that is killed later does not write its compile cache, so it is written now.
  flushCompileCache();
  sendToParent({ ready: true });
}

async function serve(plan: ServerPlan): Promise<string> {
  const { folder, upstream, counter, run } = plan;
  const toml = `[server]\nport = 0\nlog_level = "warn"\n${upstreamToml("script", upstream)}`;
  const { url } = await startGateway({
    config: parseConfig(toml, { file: "kill.toml", env: {} }),
    env: {},
    dataFolder: folder,
    store: await openCrashingStore(plan),
    agents: createAgents(counter, run),
    logTarget: process.stderr,
  });
  return url;
}

async function openCrashingStore({ store, folder, crashPoint }: ServerPlan): Promise<Store> {
  const module = (await import(store)) as StoreModule;
  const wrappedStore = await module.openStore({ folder });
  if (crashPoint === undefined) return wrappedStore;
  return createCrashingStore(wrappedStore, crashPoint, (what) => {
    writeFileSync(join(folder, crashReportFile), what);
    process.kill(process.pid, "SIGKILL");
    throw new Error("still running after SIGKILL");
  });
}
