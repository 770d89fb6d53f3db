import type { JsonObject } from "@deltawire/wire";
import { streamed, wholeReply, type Reply } from "../../../test/wire-replies.ts";
import { hostileUpstream, type HostileUpstream, type Play } from "../upstream/hostile-upstream.ts";
import { markerOf } from "./generator.ts";

/**
 * A model in good order, whose reasoning repeats the marker of the client that asked, under call ids that repeat. A request
 * with the markers of two clients in it shows that something of one reached another.
 */
export class MarkerUpstream {
  readonly #clients: readonly string[];
  #server: HostileUpstream | undefined;
  #faults: string[] = [];

  private constructor(clients: readonly string[]) {
    this.#clients = clients;
  }

  static async start(clients: readonly string[]): Promise<MarkerUpstream> {
    const upstream = new MarkerUpstream(clients);
    upstream.#server = await hostileUpstream((path) => upstream.#play(path));
    return upstream;
  }

  get url(): string {
    return this.#server?.url ?? "";
  }

  /** What was wrong with the requests since the last time. */
  takeFaults(): string[] {
    return this.#faults.splice(0);
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #play(path: string): Play {
    return async (reply) => {
      if (!/\/(?:responses|chat\/completions)$/.test(path)) return reply.json('{"data":[]}');
      const asked = JSON.stringify(reply.body);
      const marked = this.#clients.filter((client) => asked.includes(markerOf(client)));
      if (marked.length > 1)
        this.#faults.push(
          `an upstream got the words of ${marked.join(" and ")} in one request: ${asked.slice(0, 800)}`,
        );
      const said = replyTo(reply.body, marked[0] === undefined ? "hm" : markerOf(marked[0]));
      if (reply.stream) await reply.events(streamed(reply.wire, said));
      else await reply.json(JSON.stringify(wholeReply(reply.wire, said)));
    };
  }
}

function replyTo(body: JsonObject, thought: string): Reply {
  const reply: Reply = { reasoning: [thought], usage: { input: 1, output: 1 } };
  const text = JSON.stringify(body["tools"] ?? "");
  const turns = (body["messages"] ?? body["input"]) as
    | { role?: string; type?: string }[]
    | undefined;
  const last = Array.isArray(turns) ? turns.at(-1) : undefined;
  const isAnswered = last?.role === "tool" || last?.type === "function_call_output";
  if (isAnswered || !/"name":"f"/.test(text)) return { ...reply, text: ["fine"] };
  return { ...reply, calls: [{ id: "call_0", name: "f", arguments: ["{}"] }] };
}
