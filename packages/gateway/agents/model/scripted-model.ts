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
import { buildReply, formatStream, sendJson, type ScriptedReply } from "../../test/wire-replies.ts";
import { findGrammarRequestFaults } from "../shared-grammar.ts";
import { findWire, type Wire } from "../wires.ts";
import { readConversation } from "./conversation.ts";
import { buildMessageReply, formatMessageStream } from "./message-reply.ts";
import { planReply } from "./scenes.ts";

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

export interface ScriptedModelOptions {
  /** False: calls may be returned without their reasoning in all scenes. */
  isReasoningRequired: boolean;
}

export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const faults: string[] = [];
  const statuses: number[] = [];
  const failed = new Set<string>();
  const upstream = await scriptedUpstream(async (request, response) => {
    const { path, body } = request;
    if (path.includes("/count_tokens")) return sendJson(response, { input_tokens: 10 });
    const wire = findWire(path);
    if (wire === undefined) return sendError(response, 404, { message: `no ${path}` });
    const {
      reply,
      failure,
      paceMs = 0,
      ...plan
    } = planReply(wire, readConversation(wire, body), options);
    faults.push(...(await findRequestFaults(wire, request)), ...plan.faults);
    const status = plan.isRefused
      ? 400
      : failure === undefined || failed.has(failure.key)
        ? 200
        : failure.status;
    if (failure !== undefined) failed.add(failure.key);
    statuses.push(status);
    if (status === 200) return send(wire, response, body, reply, paceMs);
    return sendError(response, status, {
      type: status === 429 ? "rate_limit_error" : "invalid_request_error",
      message: plan.faults[0] ?? "Try again.",
    });
  });
  return { ...upstream, statuses, faults };
}

async function send(
  wire: Wire,
  response: ServerResponse,
  body: JsonObject,
  { ...reply }: ScriptedReply,
  paceMs: number,
): Promise<void> {
  reply.usage = { input: Math.ceil(JSON.stringify(body).length / 4), output: 10 };
  if (body["stream"] !== true)
    return sendJson(
      response,
      wire === "messages" ? buildMessageReply(reply) : buildReply(wire, reply),
    );
  beginStream(response);
  const events = wire === "messages" ? formatMessageStream(reply) : formatStream(wire, reply);
  for (const event of events) {
    if (response.destroyed) return;
    response.write(event);
    if (paceMs > 0) await sleep(paceMs);
  }
  response.end();
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
    default:
      return [
        ...findMessagesRequestFaults(body as unknown as MessagesRequest),
        ...(await findGrammarRequestFaults(body, headers)),
      ];
  }
}
