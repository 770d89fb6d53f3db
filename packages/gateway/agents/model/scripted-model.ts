import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { findMessagesRequestFaults } from "../../../wire/check/message-rules.ts";
import { findResponsesRequestFaults } from "../../../wire/check/responses-rules.ts";
import { upstreamRules } from "../../../wire/check/upstream-rules.ts";
import type {
  ChatRequest,
  JsonObject,
  MessagesRequest,
  ResponseInputItem,
  ResponsesRequest,
} from "@deltawire/wire";
import {
  beginStream,
  scriptedUpstream,
  sendError,
  type ReceivedRequest,
} from "../../test/scripted-upstream.ts";
import { buildReply, formatStream, sendJson } from "../../test/wire-replies.ts";
import { findGrammarRequestFaults } from "../shared-grammar.ts";
import { findWire, type Wire } from "../wires.ts";
import { readConversation, type Conversation } from "./conversation.ts";
import { buildMessageReply, formatMessageStream } from "./message-reply.ts";
import type { ReplyPlan } from "./reply-plan.ts";

/** A model on loopback that plays scenes on all APIs. */
export interface ScriptedModel {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  /** Requests for replies, as it received them. */
  requests: ReceivedRequest[];
  /** The status of every reply. */
  statuses: number[];
  /** What a strict provider would refuse in the requests. */
  faults: string[];
  /** Requests that are still open. */
  openCount(): number;
  close(): Promise<void>;
}

/** Returns the reply to a conversation. */
export type PlanReply = (wire: Wire, conversation: Conversation) => ReplyPlan;

export async function startScriptedModel(planReply: PlanReply): Promise<ScriptedModel> {
  const faults: string[] = [];
  const statuses: number[] = [];
  const failureCounts = new Map<string, number>();
  const upstream = await scriptedUpstream(async (request, response) => {
    const { path, body } = request;
    if (path.includes("/count_tokens")) return sendJson(response, { input_tokens: 10 });
    const wire = findWire(path);
    if (wire === undefined) return sendError(response, 404, { message: `no ${path}` });
    const plan = planReply(wire, readConversation(wire, body));
    faults.push(...(await findRequestFaults(wire, request)), ...plan.faults);
    if (plan.isRefused) {
      statuses.push(400);
      return sendFailure(wire, response, 400, plan.faults.join("; "));
    }
    const { failure } = plan;
    const count = failureCounts.get(failure?.key ?? "") ?? 0;
    const isFailing = failure !== undefined && count < (failure.times ?? 1);
    if (failure !== undefined) failureCounts.set(failure.key, count + 1);
    const { status = 200, message = "Try again.", cutEvents = 0 } = isFailing ? failure : {};
    statuses.push(status);
    if (status !== 200) return sendFailure(wire, response, status, message);
    return send(wire, response, body, plan, cutEvents);
  });
  return { ...upstream, statuses, faults };
}

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function sendFailure(wire: Wire, response: ServerResponse, status: number, message: string): void {
  const error = { type: errorTypes[status] ?? "api_error", message };
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(wire === "messages" ? { type: "error", error } : { error }));
}

async function send(
  wire: Wire,
  response: ServerResponse,
  body: JsonObject,
  plan: ReplyPlan,
  cutEvents: number,
): Promise<void> {
  const { paceMs = 0, inputTokens = Math.ceil(JSON.stringify(body).length / 4) } = plan;
  const reply = { ...plan.reply, usage: { input: inputTokens, output: 10 } };
  if (body["stream"] !== true)
    return sendJson(
      response,
      wire === "messages" ? buildMessageReply(reply) : buildReply(wire, reply),
    );
  beginStream(response);
  const events = wire === "messages" ? formatMessageStream(reply) : formatStream(wire, reply);
  for (const event of events.slice(0, events.length - cutEvents)) {
    if (response.destroyed) return;
    response.write(event);
    if (paceMs > 0) await sleep(paceMs);
  }
  if (cutEvents === 0) return void response.end();
  // What was written must leave the process before the connection is reset.
  await sleep(50);
  response.destroy();
}

async function findRequestFaults(
  wire: Wire,
  { body, headers }: ReceivedRequest,
): Promise<string[]> {
  switch (wire) {
    case "chat": {
      const rules = ["tool-adjacency", "no-developer-role"] as const;
      return rules.flatMap((rule) => upstreamRules[rule](body as unknown as ChatRequest) ?? []);
    }
    case "responses": {
      const request: ResponsesRequest = body;
      const items = Array.isArray(request.input) ? request.input : [];
      // The API allows messages without a type.
      const input = items.map((item): ResponseInputItem => ({ type: "message", ...item }));
      return findResponsesRequestFaults({ ...request, input });
    }
    default: {
      const faults = [
        ...findMessagesRequestFaults(body as unknown as MessagesRequest),
        ...(await findGrammarRequestFaults(body, headers)),
      ];
      // With interleaved thinking the budget may exceed max_tokens.
      const isInterleaved = String(headers["anthropic-beta"]).includes("interleaved-thinking");
      return isInterleaved ? faults.filter((fault) => !fault.includes("budget")) : faults;
    }
  }
}
