/*
 * A gateway in a process of its own, for `leak.ts`: it gets its configuration from its parent, and tells it what it holds
 * after everything that can be collected was. It wants --expose-gc.
 */
import { readConfig } from "../src/config/read.ts";
import { startGateway } from "../src/gateway.ts";

/** What a process holds. */
export interface Held {
  heapBytes: number;
  /** Buffers outside of the heap. */
  bufferBytes: number;
  residentBytes: number;
  /** Sockets, timers and the like that keep the process alive, by kind. */
  resources: Record<string, number>;
}

export type ToGateway = { toml: string } | "measure" | "stop";
export type FromGateway = { url: string } | { held: Held };

if (import.meta.main) {
  const tell = (message: FromGateway): void => void process.send?.(message);
  const told = (message: ToGateway): void => {
    if (message === "measure") tell({ held: held() });
    else if (message === "stop") process.exit(0);
    else void start(message.toml).then((url) => tell({ url }));
  };
  process.on("message", told);
}

async function start(toml: string): Promise<string> {
  const { url } = await startGateway({
    config: readConfig(toml, { file: "leak.toml", env: {} }),
    env: {},
    dataFolder: undefined,
    // Lines are written as they would be, and thrown away.
    logTo: { write: () => undefined },
  });
  return url;
}

function held(): Held {
  // Finalizers of the first pass free what the second collects.
  for (let pass = 0; pass < 3; pass += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  return { heapBytes: heapUsed, bufferBytes: arrayBuffers, residentBytes: rss, resources };
}
