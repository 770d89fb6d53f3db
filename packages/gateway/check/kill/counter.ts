/*
 * The world in which tools leave their marks, as a process of its own that no kill of a server reaches:
 *
 *   POST   /RUN/TOOL {key}             a tool is at work: counted, by run, tool and idempotency key
 *   GET    /RUN                        what was counted
 *   PUT    /RUN/hold {tool, counted}   the next run of that tool gets no answer, and is counted or not
 *   GET    /RUN/held                   answers when one is held
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ToolName } from "./agents.ts";

/** How often each tool was at work, by the keys that it was given. */
export type Counts = Record<string, Record<string, number>>;

export interface Hold {
  tool: ToolName;
  /** Whether it has left its mark when the answer is held back. */
  counted: boolean;
}

class World {
  readonly counts: Counts = {};
  hold: Hold | undefined;
  readonly held: Promise<void>;
  #tell: () => void = () => undefined;

  constructor() {
    this.held = new Promise((resolve) => (this.#tell = resolve));
  }

  /** False: there will be no answer. */
  work(tool: string, key: string): boolean {
    const isHeld = this.hold?.tool === tool;
    const counted = this.hold?.counted;
    if (isHeld) this.hold = undefined;
    if (!isHeld || counted === true) {
      const keys = (this.counts[tool] ??= {});
      keys[key] = (keys[key] ?? 0) + 1;
    }
    if (isHeld) this.#tell();
    return !isHeld;
  }
}

const worlds = new Map<string, World>();

if (import.meta.main) {
  process.on("disconnect", () => process.exit(0));
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, run = "", what = ""] = (request.url ?? "").split("/");
  const world = worlds.get(run) ?? new World();
  worlds.set(run, world);
  const body = await bodyOf(request);
  if (request.method === "POST") {
    if (!world.work(what, (body as { key: string }).key)) return;
  } else if (request.method === "PUT") world.hold = body as Hold;
  else if (what === "held") await world.held;
  response.end(JSON.stringify(world.counts));
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text === "" ? undefined : JSON.parse(text);
}
