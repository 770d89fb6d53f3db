/*
 * Records the side effects of tools, in a separate process that survives the kills of servers:
 *
 *   POST   /RUN/TOOL {key}             a tool runs: counted by run, tool and idempotency key
 *   GET    /RUN                        the counts
 *   PUT    /RUN/hold {tool, counted}   the next run of that tool gets no reply, and is counted or not
 *   GET    /RUN/held                   replies when a run is held
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ToolName } from "./agents.ts";

/** The number of runs of each tool, by idempotency key. */
export type Counts = Record<string, Record<string, number>>;

export interface HeldCall {
  tool: ToolName;
  /** Whether the held run is counted, as if its side effect had happened. */
  counted: boolean;
}

class RunCounters {
  readonly counts: Counts = {};
  hold: HeldCall | undefined;
  readonly held: Promise<void>;
  #resolveHeld: () => void = () => undefined;

  constructor() {
    this.held = new Promise((resolve) => (this.#resolveHeld = resolve));
  }

  /** Counts a run of a tool, unless it is held without being counted. Returns false if it is held: it gets no reply. */
  countRun(tool: string, key: string): boolean {
    const isHeld = this.hold?.tool === tool;
    const counted = this.hold?.counted;
    if (isHeld) this.hold = undefined;
    if (!isHeld || counted === true) {
      const keys = (this.counts[tool] ??= {});
      keys[key] = (keys[key] ?? 0) + 1;
    }
    if (isHeld) this.#resolveHeld();
    return !isHeld;
  }
}

const countersByRun = new Map<string, RunCounters>();

if (import.meta.main) {
  process.on("disconnect", () => process.exit(0));
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, run = "", what = ""] = (request.url ?? "").split("/");
  const counters = countersByRun.get(run) ?? new RunCounters();
  countersByRun.set(run, counters);
  const body = await readBody(request);
  if (request.method === "POST") {
    if (!counters.countRun(what, (body as { key: string }).key)) return;
  } else if (request.method === "PUT") counters.hold = body as HeldCall;
  else if (what === "held") await counters.held;
  response.end(JSON.stringify(counters.counts));
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? undefined : JSON.parse(text);
}
