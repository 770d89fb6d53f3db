import type { JsonObject } from "@deltawire/wire";
import { streamed, wholeReply, type Reply } from "../../test/wire-replies.ts";
import { hostileUpstream, type HostileUpstream, type Play } from "./upstream/hostile-upstream.ts";

interface Message {
  role?: string;
  content?: unknown;
}

/**
 * A model on the Chat wire that calls the first tool it is offered, once, with the JSON that the user wrote, and says what
 * it was told then.
 */
export async function scriptedModel(): Promise<HostileUpstream> {
  return hostileUpstream(() => playScript);
}

export const playScript: Play = async (reply) => {
  const said = replyTo(reply.body);
  if (reply.stream) await reply.events(streamed("chat", said));
  else await reply.json(JSON.stringify(wholeReply("chat", said)));
};

function replyTo(body: JsonObject): Reply {
  const messages = Array.isArray(body["messages"]) ? (body["messages"] as Message[]) : [];
  const tools = Array.isArray(body["tools"])
    ? (body["tools"] as { function?: { name?: string } }[])
    : [];
  const name = tools[0]?.function?.name;
  const content = messages.findLast(({ role }) => role === "user")?.content;
  const asked = typeof content === "string" ? content : "";
  const usage = { input: 1, output: 1 };
  if (name === undefined) return { text: ["no tools"], usage };
  if (messages.at(-1)?.role === "tool") return { text: ["done"], usage };
  return { calls: [{ id: "call_0", name, arguments: [isJson(asked) ? asked : "{}"] }], usage };
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}
