import type { IncomingHttpHeaders } from "node:http";
import { decodeChatRequest, decodeResponsesRequest } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { clientWires } from "../relay/client-wire.ts";
import { maxReplyValues, type ClientRequest } from "../relay/plan.ts";
import { StreamReceiver, WholeReceiver } from "../relay/receiver.ts";
import type { Relay } from "../relay/relay.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { RequestSource } from "../upstream/request-source.ts";
import { chosen, sendJson, type Call } from "./call.ts";
import { Problem } from "../problem.ts";
import { readJson } from "./request-body.ts";
import { serveAgent, type AgentServer } from "./serve-agent.ts";

export interface ReplyServer {
  relay: Relay;
  /** Throws where nobody serves the model. */
  targetsOf: (model: string) => Promise<readonly ModelTarget[]>;
  /** Each is a model too; `server` throws where they cannot run. */
  agents?: { has(name: string): boolean; server(): AgentServer };
}

/** A Responses upstream is asked once for every choice. */
const mostChoices = 16;

export async function serveResponses(call: Call, server: ReplyServer): Promise<void> {
  const request = decodeResponsesRequest(checkedFields(await readJson(call)));
  await serve(call, server, {
    wire: "responses",
    request,
    codex: isCodex(call.request.headers),
    reasoning: chosen(call, "x-deltawire-reasoning", ["summary", "text"], call.client?.reasoning),
  });
}

export async function serveChat(call: Call, server: ReplyServer): Promise<void> {
  const request = decodeChatRequest(checkedFields(await readJson(call)));
  const { n } = request;
  if (n !== undefined && n !== null && !(Number.isInteger(n) && n >= 1 && n <= mostChoices))
    throw new Problem("invalid_request", `n: expected a whole number from 1 to ${mostChoices}`, {
      param: "n",
    });
  await serve(call, server, {
    wire: "chat",
    request,
    toolCalls: chosen(call, "x-deltawire-tool-calls", ["deltas", "whole"], call.client?.toolCalls),
  });
}

/** Fields that we do not know are passed on one by one: 100,000 of them took 350 ms. */
function checkedFields(body: unknown): unknown {
  if (typeof body === "object" && body !== null && Object.keys(body).length > maxFields)
    throw new Problem("invalid_request", `the body has more than ${maxFields} fields`);
  return body;
}

const maxFields = 1000;

async function serve(
  call: Call,
  { relay, targetsOf, agents }: ReplyServer,
  client: ClientRequest,
): Promise<void> {
  const { response, signal } = call;
  const { model, stream } = client.request;
  if (typeof model !== "string" || model === "")
    throw new Problem(
      "invalid_request",
      "model: expected the name of a model; GET /v1/models lists them",
      { param: "model" },
    );
  call.model = model;
  if (agents?.has(model) === true) return serveAgent(call, agents.server(), client, model);
  const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
  call.record = record;
  const targets = await targetsOf(model);
  const source = new RequestSource(call.client?.name ?? "", client.request);
  const wire = clientWires[client.wire];
  if (stream === true) {
    const receiver = new StreamReceiver(
      response,
      wire,
      () => (call.firstByteAt = performance.now()),
    );
    const ran = await relay.run({ client, targets, receiver, signal, record, source });
    // It may only have stopped reading: what it has not got by now it will not get.
    if (ran === "left") response.destroy();
    return;
  }
  const receiver = new WholeReceiver(wire, maxReplyValues(client));
  const ran = await relay.run({ client, targets, receiver, signal, record, source });
  if (ran === "left") return;
  call.firstByteAt = performance.now();
  sendJson(response, 200, receiver.whole() ?? {});
}

/**
 * Whether Codex is asking. It runs every call that it sees done and never looks at the status, so what was cut must be
 * kept from it; and it stops with a clear text for some failures only when they come inside the stream.
 */
function isCodex(headers: IncomingHttpHeaders): boolean {
  const { originator } = headers;
  if (typeof originator === "string" && /^codex/i.test(originator)) return true;
  if (/^codex/i.test(headers["user-agent"] ?? "")) return true;
  return Object.keys(headers).some((name) => name.startsWith("x-codex-"));
}
