import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@deltawire/wire";
import {
  beginStream,
  scriptedUpstream,
  type ScriptedUpstream,
} from "../../test/scripted-upstream.ts";
import { streamed, type Reply } from "../../test/wire-replies.ts";

/** What the person says meanwhile, and the model's last answer shows that it has heard. */
export const steering = "Be quick.";

/** Apart by this much, chunks come one by one. */
const paceMs = 2;

/** A Chat upstream whose answer follows from the request alone, so that it says the same when it is asked again. */
export function startUpstream(): Promise<ScriptedUpstream> {
  return scriptedUpstream(async ({ body }, response) => {
    beginStream(response);
    for (const each of streamed("chat", { ...answerTo(body), usage: { input: 10, output: 5 } })) {
      response.write(each);
      await sleep(paceMs);
    }
    response.end();
  });
}

function answerTo(body: JsonObject): Reply {
  const messages = body["messages"] as { role: string; content: unknown }[];
  const results = messages.filter(({ role }) => role === "tool").length;
  if (JSON.stringify(messages[0]?.content).includes("You are the helper."))
    return results === 0
      ? { reasoning: ["Looking ", "first."], calls: [call(0, "look"), call(1, "send")] }
      : { text: ["Seen.[^", "1] ", "Sent."] };
  switch (results) {
    case 0:
      return {
        reasoning: ["Let me ", "read."],
        text: ["I begin."],
        calls: [call(0, "read"), call(1, "put")],
      };
    case 2:
      return {
        calls: [
          call(0, "pay", { amount: 5 }),
          call(1, "ask_for_help", {
            name: "helper",
            description: "help",
            prompt: "Look and send.",
          }),
          call(2, "note", { of: "it" }),
        ],
      };
    case 5:
      return {
        calls: [call(0, "note", { of: "it" }), call(1, "wipe"), call(2, "peek"), call(3, "quote")],
      };
    default:
      return {
        text: [
          "All is done",
          ".[^1] And seen.[",
          "^2]",
          ...(hasHeard(messages) ? [" Quickly."] : []),
        ],
      };
  }
}

function hasHeard(messages: readonly { role: string; content: unknown }[]): boolean {
  return messages.some(
    ({ role, content }) => role === "user" && textOf(content).includes(steering),
  );
}

function textOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}

/** Its ids are the same in every round, as those of some providers are. */
function call(at: number, name: string, args: object = {}) {
  const text = JSON.stringify(args);
  const middle = Math.floor(text.length / 2);
  return { id: `call_${at}`, name, arguments: [text.slice(0, middle), text.slice(middle)] };
}
