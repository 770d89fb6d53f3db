/*
 * A gateway in a separate process, for `leak.ts`. Gets its configuration from its parent, and reports its memory after a
 * garbage collection. Requires --expose-gc.
 */
import { parseConfig } from "../src/config/parse-config.ts";
import { startGateway } from "../src/gateway.ts";

/** Memory and resources of a process. */
export interface MemoryUsage {
  heapBytes: number;
  /** Buffers outside of the heap. */
  bufferBytes: number;
  residentBytes: number;
  /** Number of sockets, timers and other resources that keep the process alive, by kind. */
  resources: Record<string, number>;
}

export type ToGateway = { toml: string } | "measure" | "stop";
export type FromGateway = { url: string } | { memory: MemoryUsage };

if (import.meta.main) {
  const send = (message: FromGateway): void => void process.send?.(message);
  const onMessage = (message: ToGateway): void => {
    if (message === "measure") send({ memory: measureMemory() });
    else if (message === "stop") process.exit(0);
    else void start(message.toml).then((url) => send({ url }));
  };
  process.on("message", onMessage);
}

async function start(toml: string): Promise<string> {
  const { url } = await startGateway({
    config: parseConfig(toml, { file: "leak.toml", env: {} }),
    env: {},
    dataFolder: undefined,
    // Lines are formatted as usual and discarded.
    logTarget: { write: () => undefined },
  });
  return url;
}

function measureMemory(): MemoryUsage {
  // Finalizers of the first pass free what the second collects.
  for (let pass = 0; pass < 3; pass += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  return { heapBytes: heapUsed, bufferBytes: arrayBuffers, residentBytes: rss, resources };
}
