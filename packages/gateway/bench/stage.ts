import { once } from "node:events";
import type { LoadOrder, LoadResult } from "./load.ts";
import { nodeCommand, type Started, type Workshop } from "../../../bench/processes.ts";
import type { RunningTarget } from "./targets.ts";

/** The model server and the clients, each a process of its own: only the target's processor time is counted. */
export interface Stage {
  upstreamPort: number;
  /**
   * Runs a load on a target. `whenOpen` is called each time that a held load has opened so many streams, and once a
   * paced one has been measured; without it the upstream sends the rest of the streams at once.
   */
  play(
    running: RunningTarget,
    load: Pick<LoadOrder, "shape" | "streams" | "run">,
    whenOpen?: () => Promise<void>,
  ): Promise<LoadResult>;
  /** Lets the upstream send the rest of all streams at once. */
  finishStreams(): void;
}

export async function setStage(workshop: Workshop): Promise<Stage> {
  const upstream = workshop.start("upstream", nodeCommand(import.meta.resolve("./upstream.ts")), {
    ipc: true,
  });
  const clients = workshop.start("clients", nodeCommand(import.meta.resolve("./load.ts")), {
    ipc: true,
  });
  const { port } = (await message(upstream)) as { port: number };
  return {
    upstreamPort: port,
    async play({ target, place, pids, started }, load, whenOpen) {
      const order: LoadOrder = {
        port: place.port,
        wire: target.wire,
        headers: target.headers(port),
        modelPrefix: target.modelPrefix,
        pids,
        ...load,
      };
      clients.child.send(order);
      let answer = (await message(clients)) as Answer;
      while (answer === "open") {
        if (whenOpen === undefined) upstream.child.send("finish");
        else await whenOpen();
        const next = message(clients);
        clients.child.send("go on");
        answer = (await next) as Answer;
      }
      if ("result" in answer) return answer.result;
      throw new Error([answer.error, ...complaints(started)].join("\n"));
    },
    finishStreams: () => void upstream.child.send("finish"),
  };
}

/** The last lines of the target's log that speak of an error. */
function complaints(started: Started): string[] {
  const lines = started.log().split("\n");
  return lines.filter((line) => /error/i.test(line)).slice(-3);
}

type Answer = "open" | { result: LoadResult } | { error: string };

/** Longer than the longest load takes on a slow machine. */
const patience = 90_000;

async function message({ name, child, ...started }: Started): Promise<unknown> {
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error(`${name} ended: ${started.log()}`));
  child.once("exit", onExit);
  try {
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(patience)]);
    const [received] = (await once(child, "message", { signal })) as [unknown];
    return received;
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason as Error;
    throw error;
  } finally {
    child.off("exit", onExit);
  }
}
