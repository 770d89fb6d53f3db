import type { JsonObject } from "@deltawire/wire";
import { formatStream, buildReply, type ScriptedReply } from "../../../test/wire-replies.ts";
import {
  startHostileUpstream,
  type HostileUpstream,
  type ReplyScript,
} from "../upstream/hostile-upstream.ts";
import { createMarker } from "./generator.ts";

/**
 * A correct model whose reasoning repeats the marker of the client, and whose call ids are always the same. A request with the
 * markers of two clients shows that data of one has reached the other.
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
    upstream.#server = await startHostileUpstream((path) => upstream.#play(path));
    return upstream;
  }

  get url(): string {
    return this.#server?.url ?? "";
  }

  /** Returns what was wrong with the requests since the last call. */
  takeFaults(): string[] {
    return this.#faults.splice(0);
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #play(path: string): ReplyScript {
    return async (reply) => {
      if (!/\/(?:responses|chat\/completions|messages(?:\/count_tokens)?)$/.test(path))
        return reply.json('{"data":[]}');
      const requestText = JSON.stringify(reply.body);
      const markedClients = this.#clients.filter((client) =>
        requestText.includes(createMarker(client)),
      );
      if (markedClients.length > 1)
        this.#faults.push(
          `an upstream received the text of ${markedClients.join(" and ")} in one request: ${requestText.slice(0, 800)}`,
        );
      if (path.endsWith("/count_tokens")) return reply.json('{"input_tokens":7}');
      const scriptedReply = chooseReply(
        reply.body,
        markedClients[0] === undefined ? "hm" : createMarker(markedClients[0]),
      );
      if (reply.stream) await reply.events(formatStream(reply.wire, scriptedReply));
      else await reply.json(JSON.stringify(buildReply(reply.wire, scriptedReply)));
    };
  }
}

function chooseReply(body: JsonObject, reasoning: string): ScriptedReply {
  const reply: ScriptedReply = { reasoning: [reasoning], usage: { input: 1, output: 1 } };
  const text = JSON.stringify(body["tools"] ?? "");
  const turns = (body["messages"] ?? body["input"]) as
    | { role?: string; type?: string; content?: unknown }[]
    | undefined;
  const lastTurn = Array.isArray(turns) ? turns.at(-1) : undefined;
  const isAnswered =
    lastTurn?.role === "tool" ||
    lastTurn?.type === "function_call_output" ||
    JSON.stringify(lastTurn?.content ?? "").includes('"tool_result"');
  if (isAnswered || !/"name":"f"/.test(text)) return { ...reply, text: ["fine"] };
  return { ...reply, calls: [{ id: "call_0", name: "f", arguments: ["{}"] }] };
}
