import { once } from "node:events";
import type { LoadOrder, LoadResult } from "./load.ts";
import {
  buildNodeCommand,
  type StartedProcess,
  type BenchEnvironment,
} from "../../../bench/processes.ts";
import type { RunningTarget } from "./targets.ts";

/** The model server and the clients, each in a separate process: only the CPU time of the target is measured. */
export interface BenchProcesses {
  upstreamPort: number;
  /**
   * Runs a load on a target. `whenOpen` is called whenever a held load has opened a number of streams, and after a paced load
   * was measured. Without it, the upstream sends the rest of the streams immediately.
   */
  runLoad(
    running: RunningTarget,
    load: Pick<LoadOrder, "shape" | "streams" | "run" | "stores">,
    whenOpen?: () => Promise<void>,
  ): Promise<LoadResult>;
  /** Makes the upstream send the rest of all streams immediately. */
  finishStreams(): void;
}

export async function startBenchProcesses(environment: BenchEnvironment): Promise<BenchProcesses> {
  const upstream = environment.start(
    "upstream",
    buildNodeCommand(import.meta.resolve("./upstream.ts")),
    {
      ipc: true,
    },
  );
  const clients = environment.start("clients", buildNodeCommand(import.meta.resolve("./load.ts")), {
    ipc: true,
  });
  const { port } = (await waitForMessage(upstream)) as { port: number };
  return {
    upstreamPort: port,
    async runLoad({ target, address, pids, started }, load, whenOpen) {
      const order: LoadOrder = {
        port: address.port,
        wire: target.wire,
        headers: target.headers(port),
        modelPrefix: target.modelPrefix,
        pids,
        ...load,
      };
      clients.child.send(order);
      let message = (await waitForMessage(clients)) as ClientMessage;
      while (message === "open") {
        if (whenOpen === undefined) upstream.child.send("finish");
        else await whenOpen();
        const next = waitForMessage(clients);
        clients.child.send("continue");
        message = (await next) as ClientMessage;
      }
      if ("result" in message) return message.result;
      throw new Error([message.error, ...listWarnings(started)].join("\n"));
    },
    finishStreams: () => void upstream.child.send("finish"),
  };
}

/** Returns the last lines of the target's log that contain an error. */
function listWarnings(started: StartedProcess): string[] {
  const lines = started.log().split("\n");
  return lines.filter((line) => /error/i.test(line)).slice(-3);
}

type ClientMessage = "open" | { result: LoadResult } | { error: string };

/** Longer than the longest load on a slow machine. */
const messageTimeoutMs = 90_000;

async function waitForMessage({ name, child, ...started }: StartedProcess): Promise<unknown> {
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error(`${name} ended: ${started.log()}`));
  child.once("exit", onExit);
  try {
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(messageTimeoutMs)]);
    const [received] = (await once(child, "message", { signal })) as [unknown];
    return received;
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason as Error;
    throw error;
  } finally {
    child.off("exit", onExit);
  }
}
