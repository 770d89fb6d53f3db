/*
 * A server to be killed, in a process of its own: what the gateway has of stores, tasks, relays and endpoints, with agents
 * from code. Its parent sends it one plan and is told where it listens.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Store } from "@deltawire/store";
import { readConfig } from "../../src/config/read.ts";
import { routes, type RouteName } from "../../src/http/routes.ts";
import { taskHandlers } from "../../src/http/serve-tasks.ts";
import { httpServer } from "../../src/http/server.ts";
import { createLog } from "../../src/log.ts";
import { resolveModel } from "../../src/models/resolve.ts";
import { Envelopes } from "../../src/reasoning/envelope.ts";
import { sealingKey } from "../../src/reasoning/key-file.ts";
import { Relay } from "../../src/relay/relay.ts";
import { startTasks } from "../../src/tasks/start-tasks.ts";
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
interface StoreModule {
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
  const toml = `[server]\nport = 0\n${upstreamToml("script", upstream)}`;
  const config = readConfig(toml, { file: "kill.toml", env: {} });
  const relay = new Relay(config, new Envelopes(sealingKey(folder)), {});
  const log = createLog("warn", process.stderr, relay.secrets);
  const { service, followers } = await startTasks({
    config,
    dataFolder: folder,
    store: await mortal(plan),
    relay,
    targetsOf: (model) => {
      const resolved = resolveModel(model, config, new Map());
      return resolved.ok
        ? Promise.resolve(resolved.targets)
        : Promise.reject(new Error(resolved.message));
    },
    builtInAgents: agentsOf(counter, run),
    log,
  });
  const { maxBodyBytes } = config.server;
  const others = routes.map(({ name }): [RouteName, () => void] => [name, () => undefined]);
  const handlers = {
    ...(Object.fromEntries(others) as Record<RouteName, () => void>),
    ...taskHandlers({ tasks: service, followers, maxBodyBytes }),
  };
  const { server } = httpServer(config.server, handlers, log);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
