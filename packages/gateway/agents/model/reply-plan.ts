import type { JsonObject } from "@deltawire/wire";
import type { ScriptedReply } from "../../test/wire-replies.ts";

/** What the model does with a request. */
export interface ReplyPlan {
  reply: ScriptedReply;
  failure?: ReplyFailure;
  paceMs?: number;
  /** The input tokens that it reports. Default: estimated from the request. */
  inputTokens?: number;
  /** What is wrong with the history. */
  faults: string[];
  /** The request is refused, because the reasoning of a call is missing or wrong. */
  isRefused: boolean;
}

/** How the first reply to a request fails: with a status, or cut off without its last events. */
export interface ReplyFailure {
  /** Requests with the same key are the same request. */
  key: string;
  /** How often it fails. Default: once. */
  times?: number;
  status?: number;
  message?: string;
  /** The number of events that are not sent. */
  cutEvents?: number;
}

/** Returns the reasoning of a reply, which differs between replies. */
export function buildReasoning(mark: string, reply: number) {
  return {
    reasoning: [`Thought ${reply} `, `about ${mark}.`],
    sealed: Buffer.from(`sealed thought ${reply} about ${mark}`).toString("base64"),
  };
}

export function splitWords(text: string): string[] {
  return text.split(/(?<= )/);
}

/** A call whose arguments are sent in two parts. */
export function formatCall(id: string, name: string, argumentsObject: JsonObject) {
  const json = JSON.stringify(argumentsObject);
  const cut = Math.ceil(json.length / 2);
  return { id, name, arguments: [json.slice(0, cut), json.slice(cut)] };
}
