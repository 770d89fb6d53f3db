import type { JsonObject } from "@deltawire/wire";
import { formatStream, buildReply, type ScriptedReply } from "../../test/wire-replies.ts";
import {
  startHostileUpstream,
  type HostileUpstream,
  type ReplyScript,
} from "./upstream/hostile-upstream.ts";

interface Message {
  role?: string;
  content?: unknown;
}

/**
 * Starts a model with the Chat API that calls the first tool once, with the JSON that the user wrote, and ends after the
 * result.
 */
export async function startScriptedModel(): Promise<HostileUpstream> {
  return startHostileUpstream(() => sendScriptedReply);
}

export const sendScriptedReply: ReplyScript = async (reply) => {
  const scriptedReply = chooseReply(reply.body);
  if (reply.stream) await reply.events(formatStream("chat", scriptedReply));
  else await reply.json(JSON.stringify(buildReply("chat", scriptedReply)));
};

function chooseReply(body: JsonObject): ScriptedReply {
  const messages = Array.isArray(body["messages"]) ? (body["messages"] as Message[]) : [];
  const tools = Array.isArray(body["tools"])
    ? (body["tools"] as { function?: { name?: string } }[])
    : [];
  const name = tools[0]?.function?.name;
  const content = messages.findLast(({ role }) => role === "user")?.content;
  const userText = typeof content === "string" ? content : "";
  const usage = { input: 1, output: 1 };
  if (name === undefined) return { text: ["no tools"], usage };
  if (messages.at(-1)?.role === "tool") return { text: ["done"], usage };
  return {
    calls: [{ id: "call_0", name, arguments: [isJson(userText) ? userText : "{}"] }],
    usage,
  };
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}
