import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@deltawire/wire";
import {
  beginStream,
  scriptedUpstream,
  type ScriptedUpstream,
} from "../../test/scripted-upstream.ts";
import { formatStream, type ScriptedReply } from "../../test/wire-replies.ts";

/** The user's input. If the model receives it, its last answer ends with "Quickly." */
export const steering = "Be quick.";

/** Delay between chunks, so that they arrive one by one. */
const paceMs = 2;

/** Starts a Chat upstream whose reply depends only on the request, so that a repeated request gets the same reply. */
export function startUpstream(): Promise<ScriptedUpstream> {
  return scriptedUpstream(async ({ body }, response) => {
    beginStream(response);
    for (const chunk of formatStream("chat", {
      ...chooseReply(body),
      usage: { input: 10, output: 5 },
    })) {
      response.write(chunk);
      await sleep(paceMs);
    }
    response.end();
  });
}

function chooseReply(body: JsonObject): ScriptedReply {
  const messages = body["messages"] as { role: string; content: unknown }[];
  const results = messages.filter(({ role }) => role === "tool").length;
  if (JSON.stringify(messages[0]?.content).includes("You are the helper."))
    return results === 0
      ? { reasoning: ["Looking ", "first."], calls: [buildCall(0, "look"), buildCall(1, "send")] }
      : { text: ["Seen.[^", "1] ", "Sent."] };
  switch (results) {
    case 0:
      return {
        reasoning: ["Let me ", "read."],
        text: ["I begin."],
        calls: [buildCall(0, "read"), buildCall(1, "put")],
      };
    case 2:
      return {
        calls: [
          buildCall(0, "pay", { amount: 5 }),
          buildCall(1, "ask_for_help", {
            name: "helper",
            description: "help",
            prompt: "Look and send.",
          }),
          buildCall(2, "note", { of: "it" }),
        ],
      };
    case 5:
      return {
        calls: [
          buildCall(0, "note", { of: "it" }),
          buildCall(1, "wipe"),
          buildCall(2, "peek"),
          buildCall(3, "quote"),
        ],
      };
    default:
      return {
        text: [
          "All is done",
          ".[^1] And seen.[",
          "^2]",
          ...(hasReceived(messages) ? [" Quickly."] : []),
        ],
      };
  }
}

function hasReceived(messages: readonly { role: string; content: unknown }[]): boolean {
  return messages.some(
    ({ role, content }) => role === "user" && toText(content).includes(steering),
  );
}

function toText(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}

/** The ids are the same in every round, as with some providers. */
function buildCall(index: number, name: string, args: object = {}) {
  const text = JSON.stringify(args);
  const middle = Math.floor(text.length / 2);
  return { id: `call_${index}`, name, arguments: [text.slice(0, middle), text.slice(middle)] };
}
