/*
 * A server to be killed, in a process of its own: a gateway with agents from code, on a store that ends it. Its parent
 * sends it one plan and is told where it listens.
 */
import { writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import type { Store } from "@deltawire/store";
import { readConfig } from "../../src/config/read.ts";
import { startGateway } from "../../src/gateway.ts";
import { upstreamToml } from "../../test/running-gateway.ts";
import { agentsOf } from "./agents.ts";
import { mortalStore, type Death } from "./mortal-store.ts";

export interface Plan {
  /** Names the run to the counter. */
  run: string;
  folder: string;
  /** A module that exports `openStore`. */
  store: string;
  counter: string;
  upstream: string;
  death: Death | undefined;
}

export type FromServer = { ready: true } | { url: string };

/** What a module of a store exports. */
export interface StoreModule {
  openStore(options: { folder: string }): Promise<Store>;
}

/** In the folder of a run, once its server has ended itself: where. */
export const epitaph = "killed-at.txt";

if (import.meta.main) {
  const tell = (message: FromServer): void => void process.send?.(message);
  process.on("disconnect", () => process.exit(0));
  process.once("message", (plan: Plan) => void serve(plan).then((url) => tell({ url })));
  // One that is killed would not leave it behind for the next.
  flushCompileCache();
  tell({ ready: true });
}

async function serve(plan: Plan): Promise<string> {
  const { folder, upstream, counter, run } = plan;
  const toml = `[server]\nport = 0\nlog_level = "warn"\n${upstreamToml("script", upstream)}`;
  const { url } = await startGateway({
    config: readConfig(toml, { file: "kill.toml", env: {} }),
    env: {},
    dataFolder: folder,
    store: await mortal(plan),
    agents: agentsOf(counter, run),
    logTo: process.stderr,
  });
  return url;
}

async function mortal({ store, folder, death }: Plan): Promise<Store> {
  const module = (await import(store)) as StoreModule;
  const opened = await module.openStore({ folder });
  if (death === undefined) return opened;
  return mortalStore(opened, death, (what) => {
    writeFileSync(join(folder, epitaph), what);
    process.kill(process.pid, "SIGKILL");
    throw new Error("it lives on after kill -9");
  });
}
